# §7.2: a session that got a job by its key observes it after a restart too, each record once.
hello a alice
a> job.submit #1 {"agent":"echo","idempotency_key":"K"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j> one
a< {"event_seq":2}
hello b alice
b> job.submit #1 {"agent":"echo","idempotency_key":"K"}
b< job.accepted {"job_id":"$j"}
b< {"event_seq":1,"payload":{"kind":"status"}}
b< {"event_seq":2,"payload":{"body":{"message":"one"}}}
# A subscriber that submits with the key becomes a submitting session, and stays one.
hello c alice
c> job.subscribe #1 {"job_id":"$j","history":true}
c< job.subscribed {"job_id":"$j"}
c< {"event_seq":1}
c< {"event_seq":2}
c> job.submit #2 {"agent":"echo","idempotency_key":"K"}
c< job.accepted {"job_id":"$j"}
restart
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_b","resume_token":"$resume_b","last_event_seq":2}}
b< session.welcome {"session_id":"$session_b"}
b< job.error {"event_seq":3,"job_id":"$j","payload":{"code":"INTERNAL_ERROR","retryable":true}}
b> job.submit #2 {"agent":"echo","idempotency_key":"K"}
b< job.accepted {"job_id":"$j"}
b< nothing
# c has received nothing since its start, so its job.accepted is sent again.
c> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_c","resume_token":"$resume_c","last_event_seq":0}}
c< session.welcome {"session_id":"$session_c"}
c< job.accepted {"job_id":"$j"}
c< {"event_seq":1}
c< {"event_seq":2}
c< job.error {"event_seq":3,"job_id":"$j"}
c< nothing
