# Limits: a frame may be limits.json_depth deep and no deeper; the session can be resumed.
setting limits.json_depth 6
hello a alice
a> session.ping #1 {"nonce":[[[[1]]]]}
a< session.pong {"payload":{"ping_nonce":[[[[1]]]]}}
a> session.ping #2 {"nonce":[[[[[1]]]]]}
a< session.error {"session_id":"$session_a","payload":{"code":"INVALID_REQUEST"}}
a< close 1008
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
a< session.welcome {"session_id":"$session_a"}
