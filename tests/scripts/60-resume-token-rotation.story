# docs/protocol.md, Sessions: a resume gives a new token; the one it used stays good until the first
# frame comes on the new transport (a drop in between must not lose the session), then it
# is dead.
# [arcp:6.3-1]
hello(a, alice)
drop a
a> {"arcp":"1.1","id":"r1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":0}}}
a< {"type":"session.welcome","session_id":"$s_a","payload":{"resume_token":"$t2"}}
# The welcome got lost: the client has the old one only.
drop a
a> {"arcp":"1.1","id":"r2","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":0}}}
a< {"type":"session.welcome","session_id":"$s_a","payload":{"resume_token":"$t3"}}
# The one that nobody may have seen is dead by then, the newest is good.
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t2","last_event_seq":0}}}
b< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED"}}
drop a
a> {"arcp":"1.1","id":"r3","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t3","last_event_seq":0}}}
a< {"type":"session.welcome","session_id":"$s_a","payload":{"resume_token":"$t4"}}
# The old token of this rotation works across a restart, too.
restart
a> {"arcp":"1.1","id":"r4","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t3","last_event_seq":0}}}
a< {"type":"session.welcome","session_id":"$s_a","payload":{"resume_token":"$t5"}}
# Any frame is the first frame.
a> {"arcp":"1.1","id":"p","type":"session.pong","payload":{}}
a> {"arcp":"1.1","id":"q","type":"session.ping","payload":{}}
a< {"type":"session.pong"}
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t3","last_event_seq":0}}}
b< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED"}}
# The answer to a submit comes when all before it is on disk.
a> {"arcp":"1.1","id":"s","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted"}
restart
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t3","last_event_seq":0}}}
b< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED"}}
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t5","last_event_seq":0}}}
b< {"type":"session.welcome","session_id":"$s_a"}
