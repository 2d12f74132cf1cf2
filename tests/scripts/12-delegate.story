# §10 and the user's report: the child's lease is derived, checked and enforced.
# [arcp:9.4-3] [arcp:9.4-4] [arcp:9.4-5] [arcp:9.4-7] [arcp:10-1] [arcp:10-2] [arcp:10-3]
# [arcp:10-4] [arcp:11-2] [arcp:LA-14] [arcp:EG-10] [arcp:DR-6]
hello a alice
a> {"arcp":"1.1","id":"1","type":"job.submit","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",
    "payload":{"agent":"echo",
    "lease_request":{"fs.read":["/srv/**"],"agent.delegate":["work@*"],"cost.budget":["USD:5"]},
    "lease_constraints":{"expires_at":"2190-01-01T01:00:00Z"}}}
a< job.accepted {"job_id":"$p"}
a< job.event {"event_seq":1}
agent $p< {"type":"job.start"}
agent $p> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.x","value":3,"unit":"USD"}}}
a< {"event_seq":2}
a< {"event_seq":3,"payload":{"body":{"name":"cost.budget.remaining","value":2}}}
# Wider patterns are refused with a witness, in the parent; no child is created.
agent $p> {"type":"delegate","id":"d1",
    "payload":{"agent":"work","input":1,"lease_request":{"fs.read":["/srv/**","/etc/**"]},
    "delegate_id":"D1"}}
a< {"event_seq":4,"job_id":"$p",
    "payload":{"kind":"tool_result",
    "body":{"call_id":"D1",
    "error":{"code":"LEASE_SUBSET_VIOLATION",
    "details":{"capability":"fs.read","child_pattern":"/etc/**","witness":"$_"}}}}}
agent $p< {"re":"d1","payload":{"error":{"code":"LEASE_SUBSET_VIOLATION"}}}
# More than the remaining budget.
agent $p> {"type":"delegate","id":"d2",
    "payload":{"agent":"work","lease_request":{"cost.budget":["USD:2.000001"]}}}
a< {"event_seq":5,"payload":{"body":{"error":{"code":"LEASE_SUBSET_VIOLATION",
    "details":{"capability":"cost.budget"}}}}}
agent $p< {"re":"d2"}
# An expiry later than the parent's.
agent $p> {"type":"delegate","id":"d3",
    "payload":{"agent":"work","lease_constraints":{"expires_at":"2190-01-01T01:00:00.001Z"}}}
a< {"event_seq":6,"payload":{"body":{"error":{"code":"LEASE_SUBSET_VIOLATION"}}}}
agent $p< {"re":"d3"}
# An agent that agent.delegate does not cover.
agent $p> {"type":"delegate","id":"d4","payload":{"agent":"echo"}}
a< {"event_seq":7,"payload":{"body":{"error":{"code":"PERMISSION_DENIED"}}}}
agent $p< {"re":"d4"}
# A subset is accepted in the parent's session, with the parent's trace and expiry.
agent $p> {"type":"delegate","id":"d5",
    "payload":{"agent":"work","input":{"x":1},
    "lease_request":{"fs.read":["/srv/a/**"],"cost.budget":["USD:2"]},"delegate_id":"D5",
    "wait":true}}
a< job.accepted {"job_id":"$c","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",
    "payload":{"parent_job_id":"$p","delegate_id":"D5","agent":"work@1.0.0",
    "lease":{"fs.read":["/srv/a/**"],"cost.budget":["USD:2"]},
    "lease_constraints":{"expires_at":"2190-01-01T01:00:00Z"},"budget":{"USD":2}}}
a< {"event_seq":8,"job_id":"$p",
    "payload":{"kind":"delegate",
    "body":{"delegate_id":"D5","child_job_id":"$c","agent":"work@1.0.0","input":{"x":1},
    "lease":{"fs.read":["/srv/a/**"]},"lease_request":{"fs.read":["/srv/a/**"]}}}}
a< {"event_seq":9,"job_id":"$c","payload":{"kind":"status"}}
agent $c< {"type":"job.start","payload":{"parent_job_id":"$p","input":{"x":1},
    "trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}}
agent $c> {"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/srv/b"}}
agent $c< {"re":"1","payload":{"error":{"code":"PERMISSION_DENIED"}}}
# Spending of the child is also subtracted from the parent's budget.
agent $c> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.x","value":2,"unit":"USD"}}}
a< {"job_id":"$c","payload":{"body":{"name":"cost.x"}}}
a< {"job_id":"$c","payload":{"body":{"name":"cost.budget.remaining","value":0}}}
a< {"job_id":"$p","payload":{"body":{"name":"cost.budget.remaining","value":0}}}
agent $c> {"type":"job.result","payload":{"result":"made"}}
a< job.result {"job_id":"$c"}
agent $p< {"re":"d5","payload":{"job_id":"$c","final_status":"success","result":"made"}}
agent $p> {"type":"delegate","id":"d6","payload":{"agent":"work"}}
a< {"payload":{"body":{"error":{"code":"BUDGET_EXHAUSTED"}}}}
