# §7.2: the same job for the same key and parameters, whatever their spelling.
# [arcp:7.2-1] [arcp:7.2-2]
hello a alice
hello b bob
a> job.submit #1 {"agent":"work","input":{"x":1,"y":[2]},"idempotency_key":"K",
    "lease_request":{"cost.budget":["USD:5"]}}
a< job.accepted {"job_id":"$j","payload":{"budget":{"USD":5}}}
a< {"event_seq":1}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.x","value":3,"unit":"USD"}}}
a< {"event_seq":2}
a< {"event_seq":3}
a> job.submit #2 {"input":{"y":[2.0],"x":1e0},"agent":"work","idempotency_key":"K",
    "lease_request":{"cost.budget":["USD:5"]}}
a< job.accepted {"id":"2","job_id":"$j","payload":{"request_id":"2","budget":{"USD":5}}}
a> job.submit #3 {"agent":"work","input":{"x":2,"y":[2]},"idempotency_key":"K",
    "lease_request":{"cost.budget":["USD:5"]}}
a< job.error {"payload":{"code":"DUPLICATE_KEY","retryable":false,"details":{"job_id":"$j"}}}
a> job.submit #4 {"agent":"work@1.0.0","input":{"x":1,"y":[2]},"idempotency_key":"K",
    "lease_request":{"cost.budget":["USD:5"]}}
a< job.error {"payload":{"code":"DUPLICATE_KEY"}}
# Keys belong to a principal.
b> job.submit #1 {"agent":"echo","idempotency_key":"K"}
b< job.accepted {"job_id":"$other"}
b< {"event_seq":1}
# A refused submit frees its key.
b> job.submit #2 {"agent":"nobody","idempotency_key":"L"}
b< job.error {"payload":{"code":"AGENT_NOT_AVAILABLE"}}
b> job.submit #3 {"agent":"echo","idempotency_key":"L"}
b< job.accepted
# A retry in another session of the principal subscribes to the job, with history.
hello c alice
c> job.submit #1 {"agent":"work","input":{"x":1,"y":[2]},"idempotency_key":"K",
    "lease_request":{"cost.budget":["USD:5"]}}
c< job.accepted {"job_id":"$j"}
c< {"event_seq":1,"payload":{"kind":"status"}}
c< {"event_seq":2,"payload":{"body":{"name":"cost.x"}}}
c< {"event_seq":3}
agent $j> {"type":"job.result","payload":{"result":1}}
c< job.result {"event_seq":4}
# A repeated envelope id is executed once; its response is sent again.
c> job.submit #1 {"agent":"echo"}
c< job.accepted {"job_id":"$j"}
c< nothing
