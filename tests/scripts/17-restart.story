# Issue: sessions, jobs and keys survive a restart; what ran ends as INTERNAL_ERROR, once.
# [arcp:8.3-1]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k1","input":{"a":1}}}
a< {"type":"job.accepted","job_id":"$j","payload":{"accepted_at":"$when"}}
a< {"event_seq":1}
agent $j> one
a< {"event_seq":2}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$k"}
a< {"event_seq":3}
agent $k> {"type":"job.result","payload":{"result":"kept"}}
a< {"type":"job.result","event_seq":4}
restart
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":1}}}
a< {"type":"session.welcome","session_id":"$s_a"}
# A submit whose events the client cannot have seen is answered again.
a< {"type":"job.accepted","job_id":"$k"}
a< {"event_seq":2,"payload":{"body":{"message":"one"}}}
a< {"event_seq":3}
a< {"event_seq":4,"payload":{"result":"kept"}}
a< {"type":"job.error","event_seq":5,"job_id":"$j","payload":{"code":"INTERNAL_ERROR","retryable":true}}
a< nothing
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k1","input":{"a":1.0}}}
a< {"type":"job.accepted","job_id":"$j","payload":{"accepted_at":"$when"}}
a> {"arcp":"1.1","id":"4","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$j","status":"error","last_event_seq":5},{"job_id":"$k","status":"success"}],"next_cursor":null}}
# Numbers go on where they were.
a> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted"}
a< {"event_seq":6}
restart
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$k","history":true}}
b< {"type":"job.subscribed","payload":{"current_status":"success","replayed":true,"subscribed_from":0}}
b< {"event_seq":1,"payload":{"kind":"status"}}
b< {"type":"job.result","event_seq":2,"payload":{"result":"kept"}}
