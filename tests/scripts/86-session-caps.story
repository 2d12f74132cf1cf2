# Limits: so many sessions of a principal, and one more is refused as retryable. A session
# that is away counts until its window is over; a resume is no new one. One that said goodbye
# and has no live job gives its place to a newcomer.
# [arcp:14-19]
setting limits.sessions_per_principal 2
setting session.resume_window_sec 60
hello(a, alice)
hello(b, alice)
c> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"}}}
c< {"type":"session.error","session_id":"$_","payload":{"code":"INTERNAL_ERROR","retryable":true,"details":{"limit":"limits.sessions_per_principal"}}}
c< close 1008
hello(d, bob)
drop b
c> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"}}}
c< {"type":"session.error","payload":{"code":"INTERNAL_ERROR"}}
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_b","resume_token":"$t_b","last_event_seq":0}}}
b< {"type":"session.welcome","session_id":"$s_b"}
drop b
clock +59s
c> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"}}}
c< {"type":"session.error","payload":{"code":"INTERNAL_ERROR"}}
clock +2s
hello(c, alice)
# A goodbye, and a newcomer; what was said goodbye to is gone then.
c> {"arcp":"1.1","id":"x","type":"session.close","payload":{}}
c< {"type":"session.closed"}
c< close 1000
hello(e, alice)
c> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_c","resume_token":"$t_c","last_event_seq":0}}}
c< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED"}}
c< close 1008
# With a live job it stays.
e> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"work"}}
e< {"type":"job.accepted","job_id":"$j"}
e< {"event_seq":1}
e> {"arcp":"1.1","id":"y","type":"session.bye","payload":{}}
e< close 1000
f> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"}}}
f< {"type":"session.error","payload":{"code":"INTERNAL_ERROR"}}
f< close 1008
# A resume takes the goodbye back.
agent $j> {"type":"job.result","payload":{"result":1}}
e> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_e","resume_token":"$t_e","last_event_seq":1}}}
e< {"type":"session.welcome","session_id":"$s_e"}
e< {"type":"job.result","event_seq":2}
drop e
f> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"}}}
f< {"type":"session.error","payload":{"code":"INTERNAL_ERROR"}}
