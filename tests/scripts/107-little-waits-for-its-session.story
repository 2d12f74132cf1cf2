# docs/protocol.md, Sessions: what jobs that wait for their sessions said is no more than what others did; one waits whatever it said.
setting jobs.keep_terminal_bytes 0
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$first"}
a< {"event_seq":1}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$second"}
a< {"event_seq":2}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$third"}
a< {"event_seq":3}
drop a
agent $first> {"type":"job.result","payload":{}}
agent $first exits 0
clock +1s
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
clock +1s
agent $third> {"type":"job.result","payload":{}}
agent $third exits 0
clock +2s
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"session.list_jobs","payload":{}}
b< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$first"},{"job_id":"$third"}]}}
# The first one waits no longer when its session has what there is of it; the second one's end is there all the same.
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":3}}}
a< {"type":"session.welcome","session_id":"$s_a"}
a< {"type":"job.result","event_seq":4,"job_id":"$first"}
a< {"type":"job.result","event_seq":5,"job_id":"$second"}
a< {"type":"job.result","event_seq":6,"job_id":"$third"}
clock +2s
b> {"arcp":"1.1","id":"2","type":"session.list_jobs","payload":{}}
b< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$third"}]}}
b< nothing
