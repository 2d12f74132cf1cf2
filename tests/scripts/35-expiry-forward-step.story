# docs/protocol.md, Authority: the wall clock is set past the expiry: the job ends, though it does nothing.
# [arcp:14-4]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","lease_constraints":{"expires_at":"2026-01-01T01:00:00Z"}}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"type":"job.event"}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo","lease_constraints":{"expires_at":"2026-01-01T01:00:00.001Z"}}}
a< {"type":"job.accepted","job_id":"$k"}
a< {"type":"job.event"}
wall +1h
a< {"type":"job.error","job_id":"$j","payload":{"code":"LEASE_EXPIRED"}}
audit< {"event":"expiry","decision":"ended","job_id":"$j"}
a< nothing
# Its last millisecond passes.
clock +1ms
a< {"type":"job.error","job_id":"$k","payload":{"code":"LEASE_EXPIRED"}}
