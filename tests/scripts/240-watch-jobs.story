# docs/protocol.md, The view: watch, unwatch and changed.
clock +1s
hello a alice
hello b bob
a> x-vendor.arcpd.watch #1 {"what":["jobs"]}
a< x-vendor.arcpd.watch.answer {"id":"1","event_seq":"$absent","payload":{"request_id":"1","what":["jobs"]}}
# Others' jobs are not seen; the own one is, with its last state.
b> job.submit #1 {"agent":"work"}
b< job.accepted {"job_id":"$theirs"}
b< {"event_seq":1}
clock +300ms
a< nothing
a> job.submit #2 {"agent":"work","lease_request":{"fs.read":["/in/**"],"agent.delegate":["echo"],"cost.budget":["USD:5"]}}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
clock +1ms
a< x-vendor.arcpd.changed {"event_seq":"$absent","payload":{"reload":"$absent","jobs":[{"job_id":"$j","principal":"alice",
    "agent":"$versioned","status":"running","code":"$absent","parent_job_id":null,"children":0,"denials":0,"budget":{"USD":{"cap":5,"spent":0}}}]}}
# What changes within 250 ms comes once; what does not change the row does not come.
agent $j> {"type":"job.event","payload":{"kind":"progress","body":{"current":1,"total":3}}}
a< {"event_seq":2}
agent $j> {"type":"job.event","payload":{"kind":"progress","body":{"current":2,"total":3}}}
a< {"event_seq":3}
agent $j> {"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.x","value":1.5,"unit":"USD"}}}
a< {"event_seq":4}
a< {"event_seq":5}
agent $j> {"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/else"}}
clock +249ms
a< nothing
clock +1ms
a< x-vendor.arcpd.changed {"payload":{"jobs":[{"job_id":"$j","progress":{"current":2,"total":3},"denials":1,
    "budget":{"USD":{"cap":5,"spent":1.5}}}]}}
agent $j> {"type":"job.event","payload":{"kind":"log","body":{"level":"info","message":"hello"}}}
a< {"event_seq":6}
clock +5s
a< nothing
# A child is a change of its parent, too.
agent $j> {"type":"delegate","id":"2","payload":{"agent":"echo","delegate_id":"D"}}
a< job.accepted {"job_id":"$child"}
a< {"event_seq":7}
a< {"event_seq":8}
clock +1ms
a< x-vendor.arcpd.changed {"payload":{"jobs":[{"job_id":"$child","parent_job_id":"$j"},{"job_id":"$j","children":1},"$more"]}}
agent $j> {"type":"job.error","payload":{"code":"TIMEOUT","message":"slow"}}
a< job.error {"job_id":"$j"}
a< job.error {"job_id":"$child"}
clock +250ms
a< x-vendor.arcpd.changed {"payload":{"jobs":[{"job_id":"$child","status":"cancelled"},
    {"job_id":"$j","status":"timed_out","code":"TIMEOUT","ended_at":"$string"},"$more"]}}
# The end of the watch.
a> x-vendor.arcpd.unwatch #3
a< x-vendor.arcpd.unwatch.answer {"payload":{"what":[]}}
a> x-vendor.arcpd.unwatch #4 {"what":["jobs"]}
a< x-vendor.arcpd.unwatch.answer {"payload":{"what":[]}}
a> job.submit #5 {"agent":"work"}
a< job.accepted
a< {"event_seq":11}
clock +1s
a< nothing
# A watch belongs to its connection.
b> x-vendor.arcpd.watch #2 {"what":["jobs"]}
b< x-vendor.arcpd.watch.answer
drop b
connect b
b> session.resume #r {"resume_token":"$resume_b","session_id":"$session_b","last_event_seq":1,"auth":{"scheme":"bearer","token":"t-bob"}}
b< session.welcome
agent $theirs> {"type":"job.result","payload":{"result":1}}
b< job.result
clock +1s
b< nothing
