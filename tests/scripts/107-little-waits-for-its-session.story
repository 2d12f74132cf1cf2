# docs/protocol.md, Sessions: the size limit for jobs that wait for their sessions is that for others; one job always waits.
setting jobs.keep_terminal_bytes 0
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$first"}
a< {"event_seq":1}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$second"}
a< {"event_seq":2}
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$third"}
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
hello b alice
b> session.list_jobs #1
b< session.jobs {"payload":{"jobs":[{"job_id":"$first"},{"job_id":"$third"}]}}
# The first job stops waiting when its session has all of its events; the end of the second job is still kept.
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":3}}
a< session.welcome {"session_id":"$session_a"}
a< job.result {"event_seq":4,"job_id":"$first"}
a< job.result {"event_seq":5,"job_id":"$second"}
a< job.result {"event_seq":6,"job_id":"$third"}
clock +2s
b> session.list_jobs #2
b< session.jobs {"payload":{"jobs":[{"job_id":"$third"}]}}
b< nothing
