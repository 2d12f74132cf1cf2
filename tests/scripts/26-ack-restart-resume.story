# Acknowledged, restarted, resumed: what was acknowledged is gone, the rest comes again under
# its numbers, in each of the three ways to ask.
# [arcp:6.5-7]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
agent $j> one
a< {"event_seq":2,"id":"$e2"}
agent $j> two
a< {"event_seq":3,"id":"$e3"}
a> {"arcp":"1.1","id":"2","type":"session.ack","payload":{"last_processed_seq":2}}
a> {"arcp":"1.1","id":"p","type":"session.ping","payload":{}}
a< {"type":"session.pong"}
# Made durable with what was acknowledged before it.
agent $j> three
a< {"event_seq":4,"id":"$e4"}
restart
# In the hello.
a> {"arcp":"1.1","id":"r1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":0}}}
a< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED"}}
a< close 1008
a> {"arcp":"1.1","id":"r2","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":2}}}
a< {"type":"session.welcome","id":"r2","session_id":"$s_a","payload":{"resume_token":"$t2"}}
a< {"event_seq":3,"id":"$e3","payload":{"body":{"message":"two"}}}
a< {"event_seq":4,"id":"$e4","payload":{"body":{"message":"three"}}}
a< {"type":"job.error","event_seq":5,"id":"$e5","job_id":"$j","payload":{"code":"INTERNAL_ERROR","retryable":true}}
a< nothing
# The old token is good until the new link has spoken, after another restart too.
restart
a> {"arcp":"1.1","id":"r3","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"session_id":"$s_a","resume_token":"$t_a","last_event_seq":3}}
a< {"type":"session.welcome","id":"r3","session_id":"$s_a","payload":{"resume_token":"$t3"}}
a< {"event_seq":4,"id":"$e4"}
a< {"type":"job.error","event_seq":5,"id":"$e5"}
a< nothing
a> {"arcp":"1.1","id":"p2","type":"session.ping","payload":{}}
a< {"type":"session.pong"}
restart
# As a message of its own; at the exact tip nothing comes again, and nothing ends twice.
b> {"arcp":"1.1","id":"r4","type":"session.resume","payload":{"auth":{"scheme":"bearer","token":"t-bob"},"session_id":"$s_a","resume_token":"$t3","last_event_seq":5}}
b< {"type":"session.error","payload":{"code":"UNAUTHENTICATED"}}
a> {"arcp":"1.1","id":"r5","type":"session.resume","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"session_id":"$s_a","resume_token":"$t3","last_event_seq":5}}
a< {"type":"session.welcome","id":"r5","session_id":"$s_a"}
a< nothing
a> {"arcp":"1.1","id":"3","type":"session.ack","payload":{"last_processed_seq":5}}
a> {"arcp":"1.1","id":"4","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$j","status":"error","last_event_seq":5}],"next_cursor":null}}
# Numbers go on where they were.
a> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted"}
a< {"event_seq":6}
