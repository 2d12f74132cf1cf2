# Limits: a frame may be limits.json_depth deep and no deeper; the session can be resumed.
setting limits.json_depth 6
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"session.ping","payload":{"nonce":[[[[1]]]]}}
a< {"type":"session.pong","payload":{"ping_nonce":[[[[1]]]]}}
a> {"arcp":"1.1","id":"2","type":"session.ping","payload":{"nonce":[[[[[1]]]]]}}
a< {"type":"session.error","session_id":"$s_a","payload":{"code":"INVALID_REQUEST"}}
a< close 1008
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":0}}}
a< {"type":"session.welcome","session_id":"$s_a"}
