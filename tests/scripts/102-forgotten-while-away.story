# docs/protocol.md, Sessions: a job that ended while its session was away is not forgotten before the session was
# sent its end: the client may have to hear once more that it was accepted. Of others so many are kept as ever.
setting jobs.keep_terminal_max 1
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$first"}
a< {"event_seq":1}
drop a
agent $first> {"type":"job.result","payload":{"result":1}}
agent $first exits 0
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.accepted","job_id":"$second"}
b< {"event_seq":1}
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
b< {"type":"job.result","event_seq":2}
b> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.accepted","job_id":"$third"}
b< {"event_seq":3}
agent $third> {"type":"job.result","payload":{}}
agent $third exits 0
b< {"type":"job.result","event_seq":4}
b> {"arcp":"1.1","id":"3","type":"session.list_jobs","payload":{}}
b< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$first","status":"success"},{"job_id":"$third"}]}}
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":0}}}
a< {"type":"session.welcome","session_id":"$s_a"}
a< {"type":"job.accepted","job_id":"$first"}
a< {"event_seq":1}
a< {"type":"job.result","event_seq":2,"job_id":"$first"}
clock +2s
b> {"arcp":"1.1","id":"4","type":"session.list_jobs","payload":{}}
b< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$third"}]}}
b< nothing
