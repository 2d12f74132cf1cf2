# §6.3, docs/protocol.md, Sessions: what no resume gets, and that a failed one changes nothing.
# [arcp:6.3-4]
hello(a, alice)
hello(o, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
# Another session's token; an id that is none; the right id with a token of nobody's.
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_o","last_event_seq":0}}}
b< {"type":"session.error","session_id":"$_","payload":{"code":"RESUME_WINDOW_EXPIRED","retryable":false}}
b< close 1008
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"sess_none","resume_token":"$t_a","last_event_seq":0}}}
b< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED"}}
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"","last_event_seq":0}}}
b< {"type":"session.error","payload":{"code":"INVALID_REQUEST","message":"payload.resume.resume_token is \"\", must be a non-empty string"}}
# Another principal, and nobody: the token alone opens nothing.
b> {"arcp":"1.1","id":"r","type":"session.resume","payload":{"auth":{"scheme":"bearer","token":"t-bob"},"session_id":"$s_a","resume_token":"$t_a","last_event_seq":0}}
b< {"type":"session.error","payload":{"code":"UNAUTHENTICATED","message":"the session belongs to another principal"}}
b> {"arcp":"1.1","id":"r","type":"session.resume","payload":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":0}}
b< {"type":"session.error","payload":{"code":"UNAUTHENTICATED","message":"the token is missing or not valid"}}
# The tip is 1: one above it was never sent.
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":2}}}
b< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED","message":"last_event_seq is beyond what this session was sent"}}
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":18446744073709551615}}}
b< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED"}}
# All the while the session went on, and its token is still good.
agent $j> still here
a< {"event_seq":2}
a> {"arcp":"1.1","id":"2","type":"session.ping","payload":{}}
a< {"type":"session.pong"}
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":2}}}
a< close 1000
b< {"type":"session.welcome","session_id":"$s_a"}
b< nothing
