# §6.4: a ping after an interval without frames; after two the link is lost, and jobs go on.
# [arcp:6.4-1] [arcp:6.4-2] [arcp:6.4-5] [arcp:6.4-6] [arcp:6.4-7]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
clock +29s
a< nothing
clock +1s
a< session.ping {"session_id":"$session_a","event_seq":"$absent",
    "payload":{"nonce":"$n","sent_at":"$_"}}
a> session.pong #2 {"ping_nonce":"$n"}
clock +30s
a< session.ping
clock +31s
a< session.ping
a< session.error {"payload":{"code":"HEARTBEAT_LOST","retryable":true}}
a< close 1001
agent $j> still here
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":1}}
a< session.welcome
a< {"event_seq":2,"payload":{"body":{"message":"still here"}}}
