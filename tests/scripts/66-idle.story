# Limits: a session without jobs or traffic but heartbeats is closed; on both sides of it.
# [arcp:14-20]
setting session.idle_timeout_sec 3600
setting session.heartbeat_interval_sec 3600
setting session.resume_window_sec 60
a> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["list_jobs"]}}}
a< {"type":"session.welcome","session_id":"$s","payload":{"resume_token":"$t"}}
clock +30m
a> {"arcp":"1.1","id":"1","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs"}
# Pings are no traffic.
clock +30m
a> {"arcp":"1.1","id":"2","type":"session.ping","payload":{}}
a< {"type":"session.pong"}
clock +1799s
a> {"arcp":"1.1","id":"3","type":"session.ping","payload":{}}
a< {"type":"session.pong"}
clock +1s
a< close 1000
# It can still be resumed, within its window.
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s","resume_token":"$t","last_event_seq":0}}}
a< {"type":"session.welcome","session_id":"$s","payload":{"resume_token":"$t2"}}
# A job that runs keeps the session, however quiet it is.
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
clock +5h
a> {"arcp":"1.1","id":"5","type":"session.ping","payload":{}}
a< {"type":"session.pong"}
agent $j> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result","event_seq":2}
clock +3599s
a< nothing
clock +1h
a< close 1000
clock +61s
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s","resume_token":"$t2","last_event_seq":2}}}
a< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED"}}
