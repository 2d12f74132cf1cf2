# Limits: so many sessions of a principal, and one more is refused as retryable. A session
# that is away counts until its window is over; a resume is no new one.
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
