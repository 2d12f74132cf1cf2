# docs/protocol.md: a key is remembered for its time, longer than its job; a principal has as many as there is room left for.
setting jobs.keep_terminal_max 1
setting jobs.idempotency_max 4
setting jobs.idempotency_ttl_sec 3600
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"one"}}
a< {"type":"job.accepted","job_id":"$first"}
a< {"event_seq":1}
agent $first> {"type":"job.result","payload":{}}
agent $first exits 0
a< {"type":"job.result","event_seq":2}
clock +1s
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo","idempotency_key":"two"}}
a< {"type":"job.accepted","job_id":"$second"}
a< {"event_seq":3}
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
a< {"type":"job.result","event_seq":4}
# The first job is forgotten now, its key is not.
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","idempotency_key":"one"}}
a< {"type":"job.accepted","job_id":"$first"}
a< {"type":"job.error","event_seq":5,"job_id":"$first"}
# Two keys are used and two are left: no more for this principal, until its first one expires.
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo","idempotency_key":"three"}}
a< {"type":"job.error","event_seq":6,"payload":{"request_id":"4","code":"INTERNAL_ERROR","retryable":true,"details":{"limit":"jobs.idempotency_max","retry_after_ms":3599000}}}
# What needs no key, or has one already, is served.
a> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo","idempotency_key":"two"}}
a< {"type":"job.accepted","job_id":"$second"}
a> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$third"}
a< {"event_seq":7}
agent $third> {"type":"job.result","payload":{}}
agent $third exits 0
a< {"type":"job.result","event_seq":8}
# Another one has room still; the first one's keys stay, over a restart too.
hello(b, bob)
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"three"}}
b< {"type":"job.accepted","job_id":"$bobs"}
b< {"event_seq":1}
b> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo","idempotency_key":"four"}}
b< {"type":"job.error","payload":{"request_id":"2","details":{"limit":"jobs.idempotency_max"}}}
agent $bobs> {"type":"job.result","payload":{}}
agent $bobs exits 0
b< {"type":"job.result"}
clock +1s
restart
hello(c, alice)
c> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"two"}}
c< {"type":"job.accepted","job_id":"$second"}
c< {"type":"job.error","job_id":"$second"}
c> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo","idempotency_key":"three"}}
c< {"type":"job.error","payload":{"request_id":"2","details":{"limit":"jobs.idempotency_max","retry_after_ms":3597000}}}
clock +3596.999s
hello(d, alice)
d> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","idempotency_key":"three"}}
d< {"type":"job.error","payload":{"request_id":"3","details":{"limit":"jobs.idempotency_max","retry_after_ms":1}}}
clock +1ms
d> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo","idempotency_key":"three"}}
d< {"type":"job.accepted","job_id":"$fourth"}
