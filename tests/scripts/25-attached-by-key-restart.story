# §7.2: a session that got a job by its key observes it after a restart too, each record once.
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"K"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
agent $j> one
a< {"event_seq":2}
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"K"}}
b< {"type":"job.accepted","job_id":"$j"}
b< {"event_seq":1,"payload":{"kind":"status"}}
b< {"event_seq":2,"payload":{"body":{"message":"one"}}}
# A subscriber that asks with the key becomes a submitting session, and stays one.
hello(c, alice)
c> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j","history":true}}
c< {"type":"job.subscribed","job_id":"$j"}
c< {"event_seq":1}
c< {"event_seq":2}
c> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo","idempotency_key":"K"}}
c< {"type":"job.accepted","job_id":"$j"}
restart
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_b","resume_token":"$t_b","last_event_seq":2}}}
b< {"type":"session.welcome","session_id":"$s_b"}
b< {"type":"job.error","event_seq":3,"job_id":"$j","payload":{"code":"INTERNAL_ERROR","retryable":true}}
b> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo","idempotency_key":"K"}}
b< {"type":"job.accepted","job_id":"$j"}
b< nothing
# Nothing was seen by c in its new life: it submitted this job, and is told so again.
c> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_c","resume_token":"$t_c","last_event_seq":0}}}
c< {"type":"session.welcome","session_id":"$s_c"}
c< {"type":"job.accepted","job_id":"$j"}
c< {"event_seq":1}
c< {"event_seq":2}
c< {"type":"job.error","event_seq":3,"job_id":"$j"}
c< nothing
