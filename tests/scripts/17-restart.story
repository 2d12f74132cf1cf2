# Sessions, jobs and keys survive a restart; running jobs end as INTERNAL_ERROR, once.
# [arcp:8.3-1]
hello a alice
a> job.submit #1 {"agent":"echo","idempotency_key":"k1","input":{"a":1}}
a< job.accepted {"job_id":"$j","payload":{"accepted_at":"$when"}}
a< {"event_seq":1}
agent $j> one
a< {"event_seq":2}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$k"}
a< {"event_seq":3}
agent $k> {"type":"job.result","payload":{"result":"kept"}}
a< job.result {"event_seq":4}
restart
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":1}}
a< session.welcome {"session_id":"$session_a"}
# job.accepted is sent again for a submit of which the client cannot have received an event.
a< job.accepted {"job_id":"$k"}
a< {"event_seq":2,"payload":{"body":{"message":"one"}}}
a< {"event_seq":3}
a< {"event_seq":4,"payload":{"result":"kept"}}
a< job.error {"event_seq":5,"job_id":"$j","payload":{"code":"INTERNAL_ERROR","retryable":true}}
a< nothing
a> job.submit #3 {"agent":"echo","idempotency_key":"k1","input":{"a":1.0}}
a< job.accepted {"job_id":"$j","payload":{"accepted_at":"$when"}}
a> session.list_jobs #4
a< session.jobs {"payload":{"jobs":[{"job_id":"$j","status":"error","last_event_seq":5},
    {"job_id":"$k","status":"success"}],"next_cursor":null}}
# The numbering continues.
a> job.submit #5 {"agent":"echo"}
a< job.accepted
a< {"event_seq":6}
restart
hello b alice
b> job.subscribe #1 {"job_id":"$k","history":true}
b< job.subscribed {"payload":{"current_status":"success","replayed":true,"subscribed_from":0}}
b< {"event_seq":1,"payload":{"kind":"status"}}
b< job.result {"event_seq":2,"payload":{"result":"kept"}}
