# docs/protocol.md, Sessions: of what ended jobs said so much is kept at most; the newest job is kept whatever it said.
setting jobs.keep_terminal_bytes 0
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$first"}
a< {"event_seq":1}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$second"}
a< {"event_seq":2}
agent $first> {"type":"job.result","payload":{}}
agent $first exits 0
a< {"type":"job.result","event_seq":3,"job_id":"$first"}
clock +1s
# What runs is not counted.
a> {"arcp":"1.1","id":"3","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$first","status":"success"},{"job_id":"$second","status":"running"}]}}
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
a< {"type":"job.result","event_seq":4,"job_id":"$second"}
a> {"arcp":"1.1","id":"4","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$second","status":"success"}]}}
# Nothing that it said is lost for its own session: that is replayed as before.
drop a
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":0}}}
a< {"type":"session.welcome","session_id":"$s_a"}
a< {"type":"job.accepted","job_id":"$second"}
a< {"type":"job.event","event_seq":1,"job_id":"$first"}
a< {"type":"job.event","event_seq":2,"job_id":"$second"}
a< {"type":"job.result","event_seq":3,"job_id":"$first"}
a< {"type":"job.result","event_seq":4,"job_id":"$second"}
a< nothing
