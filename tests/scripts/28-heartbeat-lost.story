# §6.4, §12: HEARTBEAT_LOST after two intervals without any frame; retryable, the jobs go on.
# [arcp:6.4-4] [arcp:6.4-5] [arcp:12-1] [arcp:EG-2] [arcp:EG-12]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"payload":{"kind":"status"}}
clock +30s
a< session.ping
# Pings have their own timer, up to 1/128 of an interval early: the second is sent before the end.
clock +30s
a< session.ping
a< session.error {"payload":{"code":"HEARTBEAT_LOST","message":"$_","retryable":true}}
agent $j> still here
