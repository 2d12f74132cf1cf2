# docs/protocol.md: of the keys of jobs that are not kept any more, so many are remembered; the oldest goes first.
setting jobs.keep_terminal_max 1
setting jobs.idempotency_max 1
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
clock +1s
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo","idempotency_key":"three"}}
a< {"type":"job.accepted","job_id":"$third"}
a< {"event_seq":6}
agent $third> {"type":"job.result","payload":{}}
agent $third exits 0
a< {"type":"job.result","event_seq":7}
# Now the second one's is remembered, and the first one's no longer.
a> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo","idempotency_key":"two"}}
a< {"type":"job.accepted","job_id":"$second"}
a< {"type":"job.error","event_seq":8,"job_id":"$second"}
a> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"echo","idempotency_key":"one"}}
a< {"type":"job.accepted","job_id":"$fourth"}
a< {"event_seq":9}
a< nothing
