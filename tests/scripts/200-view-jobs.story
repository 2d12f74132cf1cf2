# docs/protocol.md, The view: x-vendor.arcpd.jobs, filters, order and pages.
hello a alice
hello b bob
a> job.submit #1 {"agent":"work","lease_request":{"cost.budget":["USD:5"]}}
a< job.accepted {"job_id":"$j1","payload":{"accepted_at":"$t1"}}
a< {"event_seq":1}
clock +1s
a> job.submit #2 {"agent":"work@2.0.0"}
a< job.accepted {"job_id":"$j2","payload":{"accepted_at":"$t2"}}
a< {"event_seq":2}
clock +1s
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$j3","payload":{"accepted_at":"$t3"}}
a< {"event_seq":3}
b> job.submit #1 {"agent":"echo"}
b< job.accepted {"job_id":"$theirs"}
# The newest comes first; the response is not numbered.
a> x-vendor.arcpd.jobs #4
a< x-vendor.arcpd.jobs.answer {"id":"4","event_seq":"$absent","payload":{"request_id":"4",
    "jobs":[{"job_id":"$j3","principal":"alice","agent":"echo","status":"running","created_at":"$t3",
    "started_at":"$_","ended_at":"$absent","code":"$absent","parent_job_id":null,"children":0,"trace_id":"$string",
    "budget":"$absent","expires_at":"$absent","progress":"$absent","denials":0,"silent_for_ms":"$number"},
    {"job_id":"$j2"},{"job_id":"$j1","budget":{"USD":{"cap":5,"spent":0}}}],"next_cursor":null}}
a> x-vendor.arcpd.jobs #5 {"limit":2}
a< {"payload":{"jobs":[{"job_id":"$j3"},{"job_id":"$j2"}],"next_cursor":"$next"}}
a> x-vendor.arcpd.jobs #6 {"limit":2,"cursor":"$next"}
a< {"payload":{"jobs":[{"job_id":"$j1"}],"next_cursor":null}}
a> x-vendor.arcpd.jobs #7 {"limit":2,"order":"oldest"}
a< {"payload":{"jobs":[{"job_id":"$j1"},{"job_id":"$j2"}],"next_cursor":"$second"}}
a> x-vendor.arcpd.jobs #8 {"limit":2,"order":"oldest","cursor":"$second"}
a< {"payload":{"jobs":[{"job_id":"$j3"}],"next_cursor":null}}
# Filters.
agent $j1> {"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.x","value":1.5,"unit":"USD"}}}
a< {"event_seq":4}
a< {"event_seq":5}
agent $j1> {"type":"job.error","payload":{"code":"TIMEOUT","message":"slow"}}
a< job.error {"event_seq":6}
a> x-vendor.arcpd.jobs #9 {"filter":{"status":["timed_out"]}}
a< {"payload":{"jobs":[{"job_id":"$j1","status":"timed_out","code":"TIMEOUT","ended_at":"$ended",
    "budget":{"USD":{"cap":5,"spent":1.5}}}]}}
a> x-vendor.arcpd.jobs #10 {"filter":{"agent":"work"}}
a< {"payload":{"jobs":[{"job_id":"$j2"},{"job_id":"$j1"}]}}
a> x-vendor.arcpd.jobs #11 {"filter":{"created_after":"$t1","created_before":"$t3"}}
a< {"payload":{"jobs":[{"job_id":"$j2"}]}}
a> x-vendor.arcpd.jobs #12 {"filter":{"ended_after":"$t1"}}
a< {"payload":{"jobs":[{"job_id":"$j1"}]}}
a> x-vendor.arcpd.jobs #13 {"filter":{"ended_after":"2099-01-01T00:00:00Z"}}
a< {"payload":{"jobs":[]}}
a> x-vendor.arcpd.jobs #14 {"filter":{"code":"TIMEOUT"}}
a< {"payload":{"jobs":[{"job_id":"$j1"}]}}
a> x-vendor.arcpd.jobs #15 {"filter":{"text":"ECH"}}
a< {"payload":{"jobs":[{"job_id":"$j3"}]}}
a> x-vendor.arcpd.jobs #16 {"filter":{"text":"imeou"}}
a< {"payload":{"jobs":[{"job_id":"$j1"}]}}
a> x-vendor.arcpd.jobs #17 {"filter":{"text":"$theirs"}}
a< {"payload":{"jobs":[]}}
a> x-vendor.arcpd.jobs #18 {"filter":{"parent":"$j1"}}
a< {"payload":{"jobs":[]}}
a> x-vendor.arcpd.jobs #19 {"filter":{"principal":"alice","agent":"echo"}}
a< {"payload":{"jobs":[{"job_id":"$j3"}]}}
