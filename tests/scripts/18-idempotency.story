# §7.2: the same job for the same key and parameters, whatever their spelling.
# [arcp:7.2-1] [arcp:7.2-2]
hello(a, alice)
hello(b, bob)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"work","input":{"x":1,"y":[2]},"idempotency_key":"K","lease_request":{"cost.budget":["USD:5"]}}}
a< {"type":"job.accepted","job_id":"$j","payload":{"budget":{"USD":5}}}
a< {"event_seq":1}
agent $j> {"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.x","value":3,"unit":"USD"}}}
a< {"event_seq":2}
a< {"event_seq":3}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"input":{"y":[2.0],"x":1e0},"agent":"work","idempotency_key":"K","lease_request":{"cost.budget":["USD:5"]}}}
a< {"type":"job.accepted","id":"2","job_id":"$j","payload":{"request_id":"2","budget":{"USD":5}}}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"work","input":{"x":2,"y":[2]},"idempotency_key":"K","lease_request":{"cost.budget":["USD:5"]}}}
a< {"type":"job.error","payload":{"code":"DUPLICATE_KEY","retryable":false,"details":{"job_id":"$j"}}}
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"work@1.0.0","input":{"x":1,"y":[2]},"idempotency_key":"K","lease_request":{"cost.budget":["USD:5"]}}}
a< {"type":"job.error","payload":{"code":"DUPLICATE_KEY"}}
# Keys belong to a principal.
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"K"}}
b< {"type":"job.accepted","job_id":"$other"}
b< {"event_seq":1}
# A refused submit frees its key.
b> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"nobody","idempotency_key":"L"}}
b< {"type":"job.error","payload":{"code":"AGENT_NOT_AVAILABLE"}}
b> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","idempotency_key":"L"}}
b< {"type":"job.accepted"}
# A retry from another session of the principal is attached, with history.
hello(c, alice)
c> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"work","input":{"x":1,"y":[2]},"idempotency_key":"K","lease_request":{"cost.budget":["USD:5"]}}}
c< {"type":"job.accepted","job_id":"$j"}
c< {"event_seq":1,"payload":{"kind":"status"}}
c< {"event_seq":2,"payload":{"body":{"name":"cost.x"}}}
c< {"event_seq":3}
agent $j> {"type":"job.result","payload":{"result":1}}
c< {"type":"job.result","event_seq":4}
# The same envelope id twice is executed once; its answer is sent again.
c> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
c< {"type":"job.accepted","job_id":"$j"}
c< nothing
