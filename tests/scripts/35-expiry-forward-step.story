# docs/protocol.md, Authority: the wall clock is set past the expiry: the job ends, though it does nothing.
# [arcp:14-4]
hello a alice
a> job.submit #1 {"agent":"echo","lease_constraints":{"expires_at":"2026-01-01T01:00:00Z"}}
a< job.accepted {"job_id":"$j"}
a< job.event
a> job.submit #2 {"agent":"echo","lease_constraints":{"expires_at":"2026-01-01T01:00:00.001Z"}}
a< job.accepted {"job_id":"$k"}
a< job.event
wall +1h
a< job.error {"job_id":"$j","payload":{"code":"LEASE_EXPIRED"}}
audit< {"event":"expiry","decision":"ended","job_id":"$j"}
a< nothing
# Its last millisecond passes.
clock +1ms
a< job.error {"job_id":"$k","payload":{"code":"LEASE_EXPIRED"}}
