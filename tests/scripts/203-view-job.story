# docs/protocol.md, The view: x-vendor.arcpd.job: all that is known of a job, while it runs and after it has
# ended, after a restart too.
hello a alice
a> job.submit #1 {"agent":"work","input":{"n":[1,2]},"lease_request":{"fs.read":["/srv/**"],"tool.call":["web.*"],
    "cost.budget":["USD:5"],"agent.delegate":["echo"]},"lease_constraints":{"expires_at":"2099-01-01T00:00:00Z"}}
a< job.accepted {"job_id":"$j","payload":{"accepted_at":"$t"}}
a< {"event_seq":1}
a> x-vendor.arcpd.job #2 {"job_id":"$j"}
a< x-vendor.arcpd.job.answer {"event_seq":"$absent","payload":{"request_id":"2","job_id":"$j","principal":"alice",
    "agent":"work@1.0.0","status":"running","created_at":"$t","started_at":"$started","children":0,"denials":0,
    "budget":{"USD":{"cap":5,"spent":0}},"expires_at":"2099-01-01T00:00:00.000Z","silent_for_ms":"$number",
    "lease":{"fs.read":["/srv/**"],"tool.call":["web.*"],"cost.budget":["USD:5"],"agent.delegate":["echo"]},
    "lease_constraints":{"expires_at":"2099-01-01T00:00:00Z"},"input":{"n":[1,2]},"truncated":"$absent",
    "uses":"$absent","refused":"$absent","error":"$absent","unread":0}}
# Uses of lines are counted, and the last denials are kept: those of authorize, too, which has no event.
agent $j> {"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/srv/a"}}
agent $j> {"type":"authorize","id":"2","payload":{"capability":"fs.read","target":"/srv/b"}}
agent $j> {"type":"authorize","id":"3","payload":{"capability":"fs.read","target":"/etc/shadow"}}
agent $j> {"type":"job.event","payload":{"kind":"progress","body":{"current":3,"total":7,"message":"on"}}}
a< {"event_seq":2}
agent $j> {"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.x","value":1.5,"unit":"EUR"}}}
a< {"event_seq":3}
agent $j> {"type":"delegate","payload":{"agent":"echo","delegate_id":"d"}}
a< job.accepted {"job_id":"$child"}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$child","payload":{"kind":"status"}}
a> x-vendor.arcpd.job #3 {"job_id":"$j"}
a< {"payload":{"denials":1,"children":1,"progress":{"current":3,"total":7},
    "uses":[["fs.read=/srv/**",2,"$used"],["agent.delegate=echo",1,"$_"]],
    "refused":[{"capability":"fs.read","target":"/etc/shadow","code":"PERMISSION_DENIED","at":"$_","layer":"gate"}],
    "budget":{"USD":{"cap":5,"spent":0},"EUR":{"spent":1.5,"cap":"$absent"}}}}
a> x-vendor.arcpd.job #4 {"job_id":"$child"}
a< {"payload":{"job_id":"$child","parent_job_id":"$j","lease":{},
    "parent_lease":{"fs.read":["/srv/**"],"tool.call":["web.*"],"cost.budget":["USD:5"],"agent.delegate":["echo"]}}}
# After the end the same is read from the store.
agent $j> {"type":"job.error","payload":{"code":"TIMEOUT","message":"slow","details":{"a":1}}}
a< job.error {"job_id":"$j"}
a< job.error {"job_id":"$child"}
agent $j exits 0
agent $child exits 0
a> x-vendor.arcpd.job #5 {"job_id":"$j"}
clock +1ms
a< x-vendor.arcpd.job.answer {"payload":{"status":"timed_out","code":"TIMEOUT","ended_at":"$_","started_at":"$started",
    "denials":1,"children":1,"input":{"n":[1,2]},"progress":{"current":3,"total":7},"pid":"$absent",
    "silent_for_ms":"$absent","uses":[["fs.read=/srv/**",2,"$used"],["agent.delegate=echo",1,"$_"]],
    "refused":[{"target":"/etc/shadow"}],
    "error":{"code":"TIMEOUT","message":"slow","retryable":true,"details":{"a":1}},
    "budget":{"USD":{"cap":5,"spent":0},"EUR":{"spent":1.5}}}}
restart
hello a alice
a> x-vendor.arcpd.job #1 {"job_id":"$j"}
clock +1ms
a< x-vendor.arcpd.job.answer {"payload":{"status":"timed_out","code":"TIMEOUT","started_at":"$started",
    "denials":1,"children":1,"input":{"n":[1,2]},"progress":{"current":3,"total":7},
    "uses":[["fs.read=/srv/**",2,"$used"],["agent.delegate=echo",1,"$_"]],"refused":[{"target":"/etc/shadow"}],
    "error":{"code":"TIMEOUT","message":"slow"},
    "budget":{"USD":{"cap":5,"spent":0},"EUR":{"spent":1.5}}}}
a> x-vendor.arcpd.jobs #2 {"filter":{"code":"TIMEOUT"}}
a< {"payload":{"jobs":[{"job_id":"$j","denials":1,"progress":{"current":3,"total":7}}]}}
# A long input, too, is shown as long as its job is kept; one of more than 4 096 bytes only in part.
a> job.submit #3 {"agent":"work","input":"012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"}
a< job.accepted {"job_id":"$long"}
agent $long> {"type":"job.result","payload":{"result":1}}
agent $long exits 0
restart
hello a alice
a> x-vendor.arcpd.job #1 {"job_id":"$long"}
clock +1ms
a< x-vendor.arcpd.job.answer {"payload":{"status":"success","input":"012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"}}
