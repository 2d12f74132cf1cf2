# docs/protocol.md, Sessions: a resume gives a new token; the one it used stays good until the first
# frame comes on the new transport (a drop in between must not lose the session), then it
# is dead.
# [arcp:6.3-1]
hello a alice
drop a
a> session.hello #r1 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
a< session.welcome {"session_id":"$session_a","payload":{"resume_token":"$t2"}}
# The welcome got lost: the client has the old one only.
drop a
a> session.hello #r2 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
a< session.welcome {"session_id":"$session_a","payload":{"resume_token":"$t3"}}
# The token that the client may not have received is invalid by then; the newest is valid.
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t2","last_event_seq":0}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
drop a
a> session.hello #r3 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t3","last_event_seq":0}}
a< session.welcome {"session_id":"$session_a","payload":{"resume_token":"$t4"}}
# The old token of this rotation works across a restart, too.
restart
a> session.hello #r4 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t3","last_event_seq":0}}
a< session.welcome {"session_id":"$session_a","payload":{"resume_token":"$t5"}}
# Any frame is the first frame.
a> session.pong #p
a> session.ping #q
a< session.pong
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t3","last_event_seq":0}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
# The answer to a submit comes when all before it is on disk.
a> job.submit #s {"agent":"echo"}
a< job.accepted
restart
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t3","last_event_seq":0}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t5","last_event_seq":0}}
b< session.welcome {"session_id":"$session_a"}
