# Limits: submits of a principal have a token bucket; who is past it is told when there is room.
setting limits.submits_per_sec 1
setting limits.submit_burst 2
hello(a, alice)
hello(b, alice)
hello(c, bob)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k"}}
a< {"type":"job.accepted","job_id":"$j1"}
a< {"event_seq":1}
# A submit that names nothing takes a token, too, and so does one of another session.
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"nobody"}}
b< {"type":"job.error","payload":{"code":"AGENT_NOT_AVAILABLE"}}
b> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.error","id":"2","payload":{"code":"INTERNAL_ERROR","retryable":true,"details":{"limit":"limits.submits_per_sec","retry_after_ms":1000}}}
# A repeated one is answered with its job.
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k"}}
a< {"type":"job.accepted","job_id":"$j1"}
# Another principal has its own.
c> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
c< {"type":"job.accepted","job_id":"$j2"}
clock +999ms
b> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.error","id":"4","payload":{"code":"INTERNAL_ERROR","details":{"limit":"limits.submits_per_sec","retry_after_ms":1}}}
clock +1ms
b> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.accepted","job_id":"$j3"}
