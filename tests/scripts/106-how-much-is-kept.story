# docs/protocol.md, Sessions: the total size of kept ended jobs is limited; the newest one is always kept.
setting jobs.keep_terminal_bytes 0
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$first"}
a< {"event_seq":1}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$second"}
a< {"event_seq":2}
agent $first> {"type":"job.result","payload":{}}
agent $first exits 0
a< job.result {"event_seq":3,"job_id":"$first"}
clock +1s
# Running jobs are not counted.
a> session.list_jobs #3
a< session.jobs {"payload":{"jobs":[{"job_id":"$first","status":"success"},
    {"job_id":"$second","status":"running"}]}}
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
a< job.result {"event_seq":4,"job_id":"$second"}
a> session.list_jobs #4
a< session.jobs {"payload":{"jobs":[{"job_id":"$second","status":"success"}]}}
# Its own session loses none of its events: they are replayed as before.
drop a
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
a< session.welcome {"session_id":"$session_a"}
a< job.accepted {"job_id":"$second"}
a< job.event {"event_seq":1,"job_id":"$first"}
a< job.event {"event_seq":2,"job_id":"$second"}
a< job.result {"event_seq":3,"job_id":"$first"}
a< job.result {"event_seq":4,"job_id":"$second"}
a< nothing
