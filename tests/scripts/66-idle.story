# Limits: a session without jobs, and without traffic except heartbeats, is closed at the limit.
# [arcp:14-20]
setting session.idle_timeout_sec 3600
setting session.heartbeat_interval_sec 3600
setting session.resume_window_sec 60
a> session.hello #h {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["list_jobs"]}}
a< session.welcome {"session_id":"$s","payload":{"resume_token":"$t"}}
clock +30m
a> session.list_jobs #1
a< session.jobs
# Pings are not traffic.
clock +30m
a> session.ping #2
a< session.pong
clock +1799s
a> session.ping #3
a< session.pong
clock +1s
a< close 1000
# It can still be resumed, within its window.
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$s","resume_token":"$t","last_event_seq":0}}
a< session.welcome {"session_id":"$s","payload":{"resume_token":"$t2"}}
# A running job keeps the session open, even without events.
a> job.submit #4 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
clock +5h
a> session.ping #5
a< session.pong
agent $j> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":2}
clock +3599s
a< nothing
clock +1h
a< close 1000
clock +61s
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$s","resume_token":"$t2","last_event_seq":2}}
a< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
