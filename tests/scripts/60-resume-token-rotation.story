# is dead.
# docs/protocol.md, Sessions: a resume returns a new token; the old one stays valid until the first frame
# on the new transport (so that a drop in between does not lose the session), and is then invalid.
# is dead.
# [arcp:6.3-1]
hello a alice
drop a
a> session.hello #r1 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
a< session.welcome {"session_id":"$session_a","payload":{"resume_token":"$t2"}}
# The welcome was lost: the client has only the old token.
drop a
a> session.hello #r2 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
a< session.welcome {"session_id":"$session_a","payload":{"resume_token":"$t3"}}
# The token in the lost welcome is invalid by then; the newest is valid.
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t2","last_event_seq":0}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
drop a
a> session.hello #r3 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t3","last_event_seq":0}}
a< session.welcome {"session_id":"$session_a","payload":{"resume_token":"$t4"}}
# The old token of this rotation is valid after a restart, too.
restart
a> session.hello #r4 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t3","last_event_seq":0}}
a< session.welcome {"session_id":"$session_a","payload":{"resume_token":"$t5"}}
# Any type of frame counts as the first frame.
a> session.pong #p
a> session.ping #q
a< session.pong
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t3","last_event_seq":0}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
# The response to a submit is sent when everything before it is on disk.
a> job.submit #s {"agent":"echo"}
a< job.accepted
restart
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t3","last_event_seq":0}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t5","last_event_seq":0}}
b< session.welcome {"session_id":"$session_a"}
