# §6.5, §6.3: what was acknowledged is freed, and a resume from before it is refused; from
# where it was acknowledged on all is there. What was not acknowledged is never freed by time.
# [arcp:6.3-4] [arcp:6.5-2] [arcp:6.5-3] [arcp:6.5-7] [arcp:7.6-5]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
agent $j> two
a< {"event_seq":2}
agent $j> three
a< {"event_seq":3}
agent $j> four
a< {"event_seq":4}
a> {"arcp":"1.1","id":"2","type":"session.ack","payload":{"last_processed_seq":2}}
# An acknowledgement of less, or of the same again, is nothing new.
a> {"arcp":"1.1","id":"3","type":"session.ack","payload":{"last_processed_seq":1}}
a> {"arcp":"1.1","id":"4","type":"session.ack","payload":{"last_processed_seq":2}}
a> {"arcp":"1.1","id":"5","type":"session.ping","payload":{}}
a< {"type":"session.pong","id":"5"}
drop a
clock +20h
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":1}}}
b< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED","message":"events after last_event_seq are no longer kept"}}
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":2}}}
b< {"type":"session.welcome","session_id":"$s_a","payload":{"resume_token":"$t2"}}
b< {"event_seq":3,"payload":{"body":{"message":"three"}}}
b< {"event_seq":4,"payload":{"body":{"message":"four"}}}
# A subscriber's history has nothing to do with the owner's acknowledgements.
hello(c, alice)
c> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j","history":true}}
c< {"type":"job.subscribed","payload":{"subscribed_from":0,"replayed":true}}
c< {"event_seq":1,"payload":{"kind":"status"}}
c< {"event_seq":2,"payload":{"body":{"message":"two"}}}
c< {"event_seq":3}
c< {"event_seq":4}
