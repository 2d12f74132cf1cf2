# docs/protocol.md, The view: x-vendor.arcpd.events: a page of a job's records, forward from a position or the
# last ones before one.
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j> {"type":"job.event","payload":{"kind":"log","body":{"level":"info","message":"one"}}}
a< {"event_seq":2}
agent $j> {"type":"job.event","payload":{"kind":"thought","body":{"text":"two"}}}
a< {"event_seq":3}
agent $j> {"type":"job.event","payload":{"kind":"log","body":{"level":"info","message":"three"}}}
a< {"event_seq":4}
agent $j> {"type":"job.result","payload":{"result":7}}
a< job.result
a> x-vendor.arcpd.events #2 {"job_id":"$j"}
a< x-vendor.arcpd.events.answer {"event_seq":"$absent","payload":{"job_id":"$j","more":false,"events":[
    {"position":1,"record":{"type":"job.event","payload":{"kind":"status"}}},
    {"position":2,"record":{"job_id":"$j","id":"$string","payload":{"kind":"log","body":{"message":"one"}}}},
    {"position":3},{"position":4},{"position":5,"record":{"type":"job.result","payload":{"result":7}}}]}}
a> x-vendor.arcpd.events #3 {"job_id":"$j","after":1,"limit":2}
a< {"payload":{"more":true,"events":[{"position":2},{"position":3}]}}
a> x-vendor.arcpd.events #4 {"job_id":"$j","after":3,"limit":2}
a< {"payload":{"more":false,"events":[{"position":4},{"position":5}]}}
a> x-vendor.arcpd.events #5 {"job_id":"$j","limit":2}
a< {"payload":{"more":true,"events":[{"position":4},{"position":5}]}}
a> x-vendor.arcpd.events #6 {"job_id":"$j","before":4,"limit":2}
a< {"payload":{"more":true,"events":[{"position":2},{"position":3}]}}
a> x-vendor.arcpd.events #7 {"job_id":"$j","before":2}
a< {"payload":{"more":false,"events":[{"position":1}]}}
a> x-vendor.arcpd.events #8 {"job_id":"$j","before":1}
a< {"payload":{"more":false,"events":[]}}
a> x-vendor.arcpd.events #9 {"job_id":"$j","after":5}
a< {"payload":{"more":false,"events":[]}}
a> x-vendor.arcpd.events #10 {"job_id":"$j","kinds":["log"],"limit":1}
a< {"payload":{"more":true,"events":[{"position":4}]}}
a> x-vendor.arcpd.events #11 {"job_id":"$j","kinds":["thought","job.result"],"after":0}
a< {"payload":{"more":false,"events":[{"position":3},{"position":5}]}}
a> x-vendor.arcpd.events #12 {"job_id":"$j","after":1,"before":2}
a< job.error {"payload":{"code":"INVALID_REQUEST","message":"payload has both after and before, must have one of them"}}
a> x-vendor.arcpd.events #13 {"job_id":"$j","limit":501}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> x-vendor.arcpd.stderr #14 {"job_id":"$j","lines":1001}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> x-vendor.arcpd.stderr #15 {"job_id":"$j"}
a< x-vendor.arcpd.stderr.answer {"payload":{"job_id":"$j","text":"$string"}}
# After a restart the same records are read from the store.
agent $j exits 0
restart
hello a alice
a> x-vendor.arcpd.events #1 {"job_id":"$j","after":1,"limit":2}
clock +1ms
a< {"payload":{"more":true,"events":[{"position":2,"record":{"payload":{"body":{"message":"one"}}}},{"position":3}]}}
a> x-vendor.arcpd.events #2 {"job_id":"$j","limit":2}
clock +1ms
a< {"payload":{"more":true,"events":[{"position":4},{"position":5}]}}
a> x-vendor.arcpd.events #3 {"job_id":"$j","kinds":["log"]}
clock +1ms
a< {"payload":{"more":false,"events":[{"position":2},{"position":4}]}}
