# §6.4, docs/protocol.md, Heartbeat: a ping when for an interval nothing was sent, or nothing was
# received; any frame counts as life; pings are answered always.
# [arcp:6.4-1] [arcp:6.4-3] [arcp:6.4-6] [arcp:6.4-7]
setting session.heartbeat_interval_sec 10
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
# Frames are sent, but none are received: a ping is sent too, to check whether the client is there.
clock +9s
agent $j> 2
a< {"event_seq":2}
clock +1s
a< session.ping {"payload":{"nonce":"$n1","sent_at":"$_"}}
a> session.pong #2 {"ping_nonce":"$n1"}
# Frames are received, but none are sent: a ping is sent too, or the client would consider the link lost.
# Frames without a response: acknowledgements and vendor types.
clock +5s
a> session.ack #3 {"last_processed_seq":1}
clock +4s
a< nothing
a> x-vendor.acme.hum #4
clock +1s
a< session.ping {"payload":{"nonce":"$n2"}}
# Any frame counts, not only pongs: for a minute only acknowledgements are received.
clock +8s
a> session.ack #5 {"last_processed_seq":1}
clock +2s
a< session.ping
clock +6s
a> session.ack #6 {"last_processed_seq":2}
clock +4s
a< session.ping
clock +5s
a> session.list_jobs #7
a< session.jobs
clock +9s
a< nothing
# A ping of the client gets a pong at once, with its nonce of any type, and counts as well.
a> session.ping #8 {"nonce":{"x":[1]}}
a< session.pong {"id":"8","session_id":"$session_a","event_seq":"$absent",
    "payload":{"ping_nonce":{"x":[1]},"received_at":"$_","request_id":"8"}}
clock +9s
a< nothing
# Half-open: two intervals without any frame. The job goes on, the session can be resumed.
clock +1s
a< session.ping
clock +9999ms
a< session.ping
agent $j> before
a< {"event_seq":3}
clock +1ms
a< session.error {"session_id":"$session_a","payload":{"code":"HEARTBEAT_LOST","retryable":true}}
a< close 1001
agent $j> after
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":3}}
a< session.welcome {"payload":{"heartbeat_interval_sec":10}}
a< {"event_seq":4,"payload":{"body":{"message":"after"}}}
# The intervals start over with a new transport.
clock +9s
a< nothing
clock +1s
a< session.ping
