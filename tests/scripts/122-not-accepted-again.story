# docs/protocol.md, Sessions: without x-vendor.arcpd.accepted_again, job.accepted is not sent again after a
# resume: the client might take it for the response to its next submit. It repeats its submit with the
# same key instead.
hello_as a alice somebody-elses
a> job.submit #1 {"agent":"echo","idempotency_key":"k"}
drop a
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["x-vendor.arcpd.accepted_again"]},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
a< session.welcome {"payload":{"resume_token":"$t2"}}
a< job.event {"event_seq":1,"job_id":"$j"}
a> job.submit #2 {"agent":"work"}
a< job.accepted {"id":"2","job_id":"$other"}
a< job.event {"event_seq":2,"job_id":"$other"}
a> job.submit #3 {"agent":"echo","idempotency_key":"k"}
a< job.accepted {"id":"3","job_id":"$j"}
restart
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t2","last_event_seq":0}}
a< session.welcome
a< job.event {"event_seq":1,"job_id":"$j"}
# With it, job.accepted is sent again, also after a restart.
hello b alice
b> job.submit #1 {"agent":"echo"}
b< job.accepted {"job_id":"$mine"}
b< job.event {"event_seq":1,"job_id":"$mine"}
restart
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_b","resume_token":"$resume_b","last_event_seq":0}}
b< session.welcome
b< job.accepted {"job_id":"$mine"}
b< job.event {"event_seq":1,"job_id":"$mine"}
