# §9.5, lease.on_expiry: terminate: a watchdog ends the job even when it does nothing.
# [arcp:7.3-2] [arcp:9.5-2] [arcp:9.5-3] [arcp:9.5-7] [arcp:9.5-8] [arcp:9.5-9] [arcp:LA-11]
# [arcp:LB-4]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","lease_request":{"tool.call":["**"]},"lease_constraints":{"expires_at":"$in_3s"}}}
a< {"type":"job.accepted","job_id":"$j","payload":{"lease_constraints":{"expires_at":"$in_3s"}}}
a< {"type":"job.event"}
agent $j< {"type":"job.start","payload":{"lease_constraints":{"expires_at":"$in_3s"}}}
later +3s
a< {"type":"job.error","job_id":"$j","payload":{"final_status":"error","code":"LEASE_EXPIRED","message":"the job's lease has expired","retryable":false,"job_id":"$j"}}
agent $j killed
audit< {"event":"expiry","decision":"ended","principal":"alice","job_id":"$j"}
# Years ahead does not fire.
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo","lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"}}}
a< {"type":"job.accepted","job_id":"$k"}
a< {"type":"job.event"}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","lease_constraints":{"expires_at":"2261-12-31T23:59:60Z"}}}
a< {"type":"job.accepted","job_id":"$m"}
a< {"type":"job.event"}
agent $k> {"type":"job.result","payload":{}}
a< {"type":"job.result","job_id":"$k"}
# There is no verb to extend, refresh or revoke a lease.
a> {"arcp":"1.1","id":"4","type":"lease.extend","payload":{"job_id":"$m","expires_at":"2261-12-31T23:59:59Z"}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST","request_id":"4"}}
a> {"arcp":"1.1","id":"5","type":"lease.refresh","payload":{"job_id":"$m"}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST","request_id":"5"}}
a> {"arcp":"1.1","id":"6","type":"lease.revoke","payload":{"job_id":"$m"}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST","request_id":"6"}}
# Instants that are past, or no instants.
a> {"arcp":"1.1","id":"7","type":"job.submit","payload":{"agent":"echo","lease_constraints":{"expires_at":"2020-01-01T00:00:00Z"}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST","message":"lease_constraints.expires_at is not in the future"}}
a> {"arcp":"1.1","id":"8","type":"job.submit","payload":{"agent":"echo","lease_constraints":{"expires_at":"2190-01-01T00:00:00+00:00"}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"9","type":"job.submit","payload":{"agent":"echo","lease_constraints":{"expires_at":"tomorrow"}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
