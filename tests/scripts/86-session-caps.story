# Limits: the number of sessions of a principal; one more is refused as retryable. A disconnected session
# counts until the end of its window; a resume is not a new session. A session that was closed with bye
# and has no live job is removed for a new one.
# [arcp:14-19]
setting limits.sessions_per_principal 2
setting session.resume_window_sec 60
hello a alice
hello b alice
c> session.hello #1 {"auth":{"scheme":"bearer","token":"t-alice"}}
c< session.error {"session_id":"$_","payload":{"code":"INTERNAL_ERROR","retryable":true,
    "details":{"limit":"limits.sessions_per_principal"}}}
c< close 1008
hello d bob
drop b
c> session.hello #1 {"auth":{"scheme":"bearer","token":"t-alice"}}
c< session.error {"payload":{"code":"INTERNAL_ERROR"}}
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_b","resume_token":"$resume_b","last_event_seq":0}}
b< session.welcome {"session_id":"$session_b"}
drop b
clock +59s
c> session.hello #1 {"auth":{"scheme":"bearer","token":"t-alice"}}
c< session.error {"payload":{"code":"INTERNAL_ERROR"}}
clock +2s
hello c alice
# A bye, and a new session; the one closed with bye is removed then.
c> session.close #x
c< session.closed
c< close 1000
hello e alice
c> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_c","resume_token":"$resume_c","last_event_seq":0}}
c< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
c< close 1008
# With a live job it stays.
e> job.submit #1 {"agent":"work"}
e< job.accepted {"job_id":"$j"}
e< {"event_seq":1}
e> session.bye #y
e< close 1000
f> session.hello #1 {"auth":{"scheme":"bearer","token":"t-alice"}}
f< session.error {"payload":{"code":"INTERNAL_ERROR"}}
f< close 1008
# A resume revokes the bye.
agent $j> {"type":"job.result","payload":{"result":1}}
e> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_e","resume_token":"$resume_e","last_event_seq":1}}
e< session.welcome {"session_id":"$session_e"}
e< job.result {"event_seq":2}
drop e
f> session.hello #1 {"auth":{"scheme":"bearer","token":"t-alice"}}
f< session.error {"payload":{"code":"INTERNAL_ERROR"}}
