# docs/protocol.md, Sessions: who submits with the key of a job that is kept no longer hears that it was accepted and
# that its end is not kept. Both come again when the client asks again under the same id: its answer may be lost.
setting jobs.keep_terminal_max 1
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"one"}}
a< {"type":"job.accepted","job_id":"$first"}
a< {"event_seq":1}
agent $first> {"type":"job.result","payload":{}}
agent $first exits 0
a< {"type":"job.result","event_seq":2}
clock +1s
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$second"}
a< {"event_seq":3}
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
a< {"type":"job.result","event_seq":4}
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"one"}}
b< {"type":"job.accepted","job_id":"$first","payload":{"request_id":"1"}}
b< {"type":"job.error","event_seq":1,"job_id":"$first","payload":{"code":"JOB_NOT_FOUND"}}
drop b
# As if b had got neither: after the replay it asks again.
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_b","resume_token":"$t_b","last_event_seq":0}}}
b< {"type":"session.welcome","session_id":"$s_b"}
b< {"type":"job.error","event_seq":1,"job_id":"$first"}
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"one"}}
b< {"type":"job.accepted","job_id":"$first","payload":{"request_id":"1"}}
b< {"type":"job.error","event_seq":2,"job_id":"$first","payload":{"code":"JOB_NOT_FOUND"}}
b< nothing
