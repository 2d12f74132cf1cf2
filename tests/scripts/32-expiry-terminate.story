# §9.5, lease.on_expiry: terminate: a watchdog ends the job even when it does nothing.
# [arcp:7.3-2] [arcp:9.5-2] [arcp:9.5-3] [arcp:9.5-7] [arcp:9.5-8] [arcp:9.5-9] [arcp:LA-11]
# [arcp:LB-4]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"tool.call":["**"]},
    "lease_constraints":{"expires_at":"$in_3s"}}
a< job.accepted {"job_id":"$j","payload":{"lease_constraints":{"expires_at":"$in_3s"}}}
a< job.event
agent $j< {"type":"job.start","payload":{"lease_constraints":{"expires_at":"$in_3s"}}}
later +3s
a< job.error {"job_id":"$j","payload":{"final_status":"error","code":"LEASE_EXPIRED",
    "message":"the job's lease has expired","retryable":false,"job_id":"$j"}}
agent $j killed
audit< {"event":"expiry","decision":"ended","principal":"alice","job_id":"$j"}
# An expiry years ahead does not end the job.
a> job.submit #2 {"agent":"echo","lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"}}
a< job.accepted {"job_id":"$k"}
a< job.event
a> job.submit #3 {"agent":"echo","lease_constraints":{"expires_at":"2261-12-31T23:59:60Z"}}
a< job.accepted {"job_id":"$m"}
a< job.event
agent $k> {"type":"job.result","payload":{}}
a< job.result {"job_id":"$k"}
# There is no verb to extend, refresh or revoke a lease.
a> lease.extend #4 {"job_id":"$m","expires_at":"2261-12-31T23:59:59Z"}
a< job.error {"payload":{"code":"INVALID_REQUEST","request_id":"4"}}
a> lease.refresh #5 {"job_id":"$m"}
a< job.error {"payload":{"code":"INVALID_REQUEST","request_id":"5"}}
a> lease.revoke #6 {"job_id":"$m"}
a< job.error {"payload":{"code":"INVALID_REQUEST","request_id":"6"}}
# Times in the past, and invalid times.
a> job.submit #7 {"agent":"echo","lease_constraints":{"expires_at":"2020-01-01T00:00:00Z"}}
a< job.error {"payload":{"code":"INVALID_REQUEST",
    "message":"lease_constraints.expires_at is not in the future"}}
a> job.submit #8 {"agent":"echo","lease_constraints":{"expires_at":"2190-01-01T00:00:00+00:00"}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.submit #9 {"agent":"echo","lease_constraints":{"expires_at":"tomorrow"}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
