# docs/protocol.md, Sessions: a job that ended while its session was disconnected is not removed before its end was
# sent to the session, because the client may need its job.accepted again. The limit for other ended jobs is unchanged.
setting jobs.keep_terminal_max 1
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$first"}
a< {"event_seq":1}
drop a
agent $first> {"type":"job.result","payload":{"result":1}}
agent $first exits 0
hello b alice
b> job.submit #1 {"agent":"echo"}
b< job.accepted {"job_id":"$second"}
b< {"event_seq":1}
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
b< job.result {"event_seq":2}
b> job.submit #2 {"agent":"echo"}
b< job.accepted {"job_id":"$third"}
b< {"event_seq":3}
agent $third> {"type":"job.result","payload":{}}
agent $third exits 0
b< job.result {"event_seq":4}
b> session.list_jobs #3
b< session.jobs {"payload":{"jobs":[{"job_id":"$first","status":"success"},{"job_id":"$third"}]}}
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
a< session.welcome {"session_id":"$session_a"}
a< job.accepted {"job_id":"$first"}
a< {"event_seq":1}
a< job.result {"event_seq":2,"job_id":"$first"}
clock +2s
b> session.list_jobs #4
b< session.jobs {"payload":{"jobs":[{"job_id":"$third"}]}}
b< nothing
