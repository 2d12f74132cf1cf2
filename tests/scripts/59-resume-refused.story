# §6.3, docs/protocol.md, Sessions: resumes that are refused, and that a refused one changes nothing.
# [arcp:6.3-4]
# One shard: with several, a session of another principal is RESUME_WINDOW_EXPIRED.
hello a alice
hello o alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
# Another session's token; an invalid id; the right id with an unknown token.
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_o","last_event_seq":0}}
b< session.error {"session_id":"$_","payload":{"code":"RESUME_WINDOW_EXPIRED","retryable":false}}
b< close 1008
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"sess_none","resume_token":"$resume_a","last_event_seq":0}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"","last_event_seq":0}}
b< session.error {"payload":{"code":"INVALID_REQUEST",
    "message":"payload.resume.resume_token is \"\", must be a non-empty string"}}
# Another principal, and an unauthenticated client: the token alone is not enough.
b> session.resume #r {"auth":{"scheme":"bearer","token":"t-bob"},"session_id":"$session_a",
    "resume_token":"$resume_a","last_event_seq":0}
b< session.error {"payload":{"code":"UNAUTHENTICATED",
    "message":"the session belongs to another principal"}}
b> session.resume #r {"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}
b< session.error {"payload":{"code":"UNAUTHENTICATED",
    "message":"the token is missing or not valid"}}
# The last number is 1: a higher one was never sent.
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":2}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED",
    "message":"last_event_seq is beyond what this session was sent"}}
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a",
    "last_event_seq":18446744073709551615}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
# Meanwhile the session went on, and its token is still valid.
agent $j> still here
a< {"event_seq":2}
a> session.ping #2
a< session.pong
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":2}}
a< close 1000
b< session.welcome {"session_id":"$session_a"}
b< nothing
