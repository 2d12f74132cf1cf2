# Acknowledged, restarted, resumed: acknowledged events are deleted, others are sent again with their
# numbers, for each of the three ways to resume.
# [arcp:6.5-7]
# One shard: with several, a session of another principal is RESUME_WINDOW_EXPIRED.
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j> one
a< {"event_seq":2,"id":"$e2"}
agent $j> two
a< {"event_seq":3,"id":"$e3"}
a> session.ack #2 {"last_processed_seq":2}
a> session.ping #p
a< session.pong
# Made durable with what was acknowledged before it.
agent $j> three
a< {"event_seq":4,"id":"$e4"}
restart
# In the hello.
a> session.hello #r1 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
a< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
a< close 1008
a> session.hello #r2 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":2}}
a< session.welcome {"id":"r2","session_id":"$session_a","payload":{"resume_token":"$t2"}}
a< {"event_seq":3,"id":"$e3","payload":{"body":{"message":"two"}}}
a< {"event_seq":4,"id":"$e4","payload":{"body":{"message":"three"}}}
a< job.error {"event_seq":5,"id":"$e5","job_id":"$j",
    "payload":{"code":"INTERNAL_ERROR","retryable":true}}
a< nothing
# The old token is valid until the first frame on the new link, also after another restart.
restart
a> session.hello #r3 {"auth":{"scheme":"bearer","token":"t-alice"},"session_id":"$session_a",
    "resume_token":"$resume_a","last_event_seq":3}
a< session.welcome {"id":"r3","session_id":"$session_a","payload":{"resume_token":"$t3"}}
a< {"event_seq":4,"id":"$e4"}
a< job.error {"event_seq":5,"id":"$e5"}
a< nothing
a> session.ping #p2
a< session.pong
restart
# As a separate message; at the last number nothing is sent again, and nothing ends twice.
b> session.resume #r4 {"auth":{"scheme":"bearer","token":"t-bob"},"session_id":"$session_a",
    "resume_token":"$t3","last_event_seq":5}
b< session.error {"payload":{"code":"UNAUTHENTICATED"}}
a> session.resume #r5 {"auth":{"scheme":"bearer","token":"t-alice"},"session_id":"$session_a",
    "resume_token":"$t3","last_event_seq":5}
a< session.welcome {"id":"r5","session_id":"$session_a"}
a< nothing
a> session.ack #3 {"last_processed_seq":5}
a> session.list_jobs #4
a< session.jobs {"payload":{"jobs":[{"job_id":"$j","status":"error","last_event_seq":5}],
    "next_cursor":null}}
# The numbering continues.
a> job.submit #5 {"agent":"echo"}
a< job.accepted
a< {"event_seq":6}
