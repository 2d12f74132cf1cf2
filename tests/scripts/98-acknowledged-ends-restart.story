# §6.5: an end that was acknowledged is not told again after a restart; one that was not, is.
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k1"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$k"}
a< {"event_seq":2}
# The first job's beginning is acknowledged while it runs, its end when it has ended.
a> {"arcp":"1.1","id":"3","type":"session.ack","payload":{"last_processed_seq":1}}
agent $j> {"type":"job.result","payload":{"result":"one"}}
a< {"type":"job.result","event_seq":3}
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$l"}
a< {"event_seq":4}
a> {"arcp":"1.1","id":"5","type":"session.ack","payload":{"last_processed_seq":3}}
agent $k> {"type":"job.result","payload":{"result":"two"}}
a< {"type":"job.result","event_seq":5}
agent $l> {"type":"job.result","payload":{"result":"three"}}
a< {"type":"job.result","event_seq":6}
restart
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":4}}}
a< {"type":"session.welcome","session_id":"$s_a","payload":{"resume_token":"$t2"}}
a< {"type":"job.result","event_seq":5,"job_id":"$k","payload":{"result":"two"}}
a< {"type":"job.result","event_seq":6,"job_id":"$l","payload":{"result":"three"}}
a< nothing
a> {"arcp":"1.1","id":"6","type":"session.ack","payload":{"last_processed_seq":6}}
a> {"arcp":"1.1","id":"7","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k1"}}
a< {"type":"job.accepted","job_id":"$j"}
a> {"arcp":"1.1","id":"8","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$m"}
a< {"event_seq":7}
# Again, now that the index has none of the three.
a> {"arcp":"1.1","id":"9","type":"session.ack","payload":{"last_processed_seq":7}}
restart
a> {"arcp":"1.1","id":"r2","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t2","last_event_seq":7}}}
a< {"type":"session.welcome","session_id":"$s_a"}
a< {"type":"job.error","event_seq":8,"job_id":"$m","payload":{"code":"INTERNAL_ERROR"}}
a< nothing
# Who was never told is told all of it.
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j","history":true}}
b< {"type":"job.subscribed","payload":{"current_status":"success","replayed":true}}
b< {"event_seq":1,"payload":{"kind":"status"}}
b< {"type":"job.result","event_seq":2,"payload":{"result":"one"}}
b< nothing
