# §6.3: the same session on a new link; replay after last_event_seq; tokens rotate.
# [arcp:6.3-3] [arcp:7.7-3] [arcp:8.3-1]
# One shard: with several, a session of another principal is RESUME_WINDOW_EXPIRED.
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j> one
agent $j> two
a< {"event_seq":2}
drop a
agent $j> three
agent $j> four
# A wrong token or another principal changes nothing.
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"rt_no","last_event_seq":2}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-bob"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":2}}
b< session.error {"payload":{"code":"UNAUTHENTICATED"}}
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":99}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":2}}
a< session.welcome {"id":"r","session_id":"$session_a","payload":{"resume_token":"$t2"}}
a< {"event_seq":3,"payload":{"body":{"message":"two"}}}
a< {"event_seq":4,"payload":{"body":{"message":"three"}}}
a< {"event_seq":5,"payload":{"body":{"message":"four"}}}
agent $j> five
a< {"event_seq":6,"payload":{"body":{"message":"five"}}}
# The old token is valid until the first frame on the new link.
a> session.ping #p
a< session.pong
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":6}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
# As a separate message; at the last number; the old link is closed; the right to cancel is kept.
c> session.resume #r {"auth":{"scheme":"bearer","token":"t-alice"},"session_id":"$session_a",
    "resume_token":"$t2","last_event_seq":6}
a< close 1000
c< session.welcome {"session_id":"$session_a"}
c< nothing
c> job.cancel #x {"job_id":"$j"}
c< job.cancelled
agent $j exits 0
c< job.error {"event_seq":7,"payload":{"code":"CANCELLED"}}
