# docs/protocol.md, Sessions: when too many ended jobs are kept, the principal that has most of them loses its oldest.
setting jobs.keep_terminal_max 3
hello(b, bob)
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"pay-once"}}
b< {"type":"job.accepted","job_id":"$bobs"}
b< {"event_seq":1}
agent $bobs> {"type":"job.result","payload":{}}
agent $bobs exits 0
b< {"type":"job.result","event_seq":2}
clock +1s
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$first"}
a< {"event_seq":1}
agent $first> {"type":"job.result","payload":{}}
agent $first exits 0
a< {"type":"job.result","event_seq":2}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$second"}
a< {"event_seq":3}
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
a< {"type":"job.result","event_seq":4}
clock +1s
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$third"}
a< {"event_seq":5}
agent $third> {"type":"job.result","payload":{}}
agent $third exits 0
a< {"type":"job.result","event_seq":6}
clock +1s
# Bob's ended before them, and is there.
a> {"arcp":"1.1","id":"4","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$second"},{"job_id":"$third"}]}}
b> {"arcp":"1.1","id":"2","type":"session.list_jobs","payload":{}}
b< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$bobs"}]}}
# Also after a restart.
restart
hello(c, alice)
c> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
c< {"type":"job.accepted","job_id":"$fourth"}
c< {"event_seq":1}
agent $fourth> {"type":"job.result","payload":{}}
agent $fourth exits 0
c< {"type":"job.result","event_seq":2}
clock +1s
c> {"arcp":"1.1","id":"2","type":"session.list_jobs","payload":{}}
c< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$third"},{"job_id":"$fourth"}]}}
hello(d, bob)
d> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"pay-once"}}
d< {"type":"job.accepted","job_id":"$bobs"}
d< {"type":"job.event","job_id":"$bobs"}
d< {"type":"job.result","job_id":"$bobs"}
d< nothing
