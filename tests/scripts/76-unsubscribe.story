# §7.6: unsubscribe ends a subscription, and nothing else; who comes back gets no event twice
# and may ask for those it missed.
# [arcp:7.6-13]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j"}}
b< {"type":"job.subscribed","payload":{"subscribed_from":1}}
agent $j> two
a< {"event_seq":2}
b< {"event_seq":1,"payload":{"body":{"message":"two"}}}
b> {"arcp":"1.1","id":"2","type":"job.unsubscribe","payload":{"job_id":"$j"}}
b> {"arcp":"1.1","id":"p","type":"session.ping","payload":{}}
b< {"type":"session.pong"}
agent $j> three
a< {"event_seq":3}
b< nothing
# Once more is an error: there is no subscription.
b> {"arcp":"1.1","id":"3","type":"job.unsubscribe","payload":{"job_id":"$j"}}
b< {"type":"job.error","id":"3","event_seq":2,"payload":{"code":"JOB_NOT_FOUND"}}
b> {"arcp":"1.1","id":"4","type":"job.subscribe","payload":{"job_id":"$j","history":true,"from_event_seq":2}}
b< {"type":"job.subscribed","payload":{"subscribed_from":2,"replayed":true}}
b< {"event_seq":3,"payload":{"body":{"message":"three"}}}
agent $j> four
a< {"event_seq":4}
b< {"event_seq":4,"payload":{"body":{"message":"four"}}}
# The submitter cannot turn away from its own job.
a> {"arcp":"1.1","id":"2","type":"job.unsubscribe","payload":{"job_id":"$j"}}
agent $j> five
a< {"event_seq":5,"payload":{"body":{"message":"five"}}}
b< {"event_seq":5}
# A subscription outlives a drop and a restart; an ended one does not come back.
hello(c, alice)
c> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j"}}
c< {"type":"job.subscribed"}
c> {"arcp":"1.1","id":"2","type":"job.unsubscribe","payload":{"job_id":"$j"}}
c> {"arcp":"1.1","id":"3","type":"session.ping","payload":{}}
c< {"type":"session.pong"}
restart
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_b","resume_token":"$t_b","last_event_seq":5}}}
b< {"type":"session.welcome"}
b< {"type":"job.error","event_seq":6,"job_id":"$j","payload":{"code":"INTERNAL_ERROR","retryable":true}}
c> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_c","resume_token":"$t_c","last_event_seq":0}}}
c< {"type":"session.welcome"}
c> {"arcp":"1.1","id":"4","type":"session.ping","payload":{}}
c< {"type":"session.pong"}
c< nothing
