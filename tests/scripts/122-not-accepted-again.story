# docs/protocol.md, Sessions: a session that did not negotiate x-vendor.arcpd.accepted_again is not told
# again after a resume what was accepted: its client might take that for the answer to its next
# submit, and asks again under its key.
hello(a, alice, somebody-elses)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k"}}
drop a
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["x-vendor.arcpd.accepted_again"]},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":0}}}
a< {"type":"session.welcome","payload":{"resume_token":"$t2"}}
a< {"type":"job.event","event_seq":1,"job_id":"$j"}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"work"}}
a< {"type":"job.accepted","id":"2","job_id":"$other"}
a< {"type":"job.event","event_seq":2,"job_id":"$other"}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k"}}
a< {"type":"job.accepted","id":"3","job_id":"$j"}
restart
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t2","last_event_seq":0}}}
a< {"type":"session.welcome"}
a< {"type":"job.event","event_seq":1,"job_id":"$j"}
# A session that negotiated it is, also after a restart.
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.accepted","job_id":"$mine"}
b< {"type":"job.event","event_seq":1,"job_id":"$mine"}
restart
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_b","resume_token":"$t_b","last_event_seq":0}}}
b< {"type":"session.welcome"}
b< {"type":"job.accepted","job_id":"$mine"}
b< {"type":"job.event","event_seq":1,"job_id":"$mine"}
