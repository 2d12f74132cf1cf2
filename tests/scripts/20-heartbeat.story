# §6.4: a ping after a quiet interval, the link is lost after two, jobs go on.
# [arcp:6.4-1] [arcp:6.4-2] [arcp:6.4-5] [arcp:6.4-6] [arcp:6.4-7]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
clock +29s
a< nothing
clock +1s
a< {"type":"session.ping","session_id":"$s_a","event_seq":"$absent","payload":{"nonce":"$n","sent_at":"$_"}}
a> {"arcp":"1.1","id":"2","type":"session.pong","payload":{"ping_nonce":"$n"}}
clock +30s
a< {"type":"session.ping"}
clock +31s
a< {"type":"session.ping"}
a< {"type":"session.error","payload":{"code":"HEARTBEAT_LOST","retryable":true}}
a< close 1001
agent $j> still here
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":1}}}
a< {"type":"session.welcome"}
a< {"event_seq":2,"payload":{"body":{"message":"still here"}}}
