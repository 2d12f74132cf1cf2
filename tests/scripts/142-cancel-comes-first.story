# §7.4: after an acknowledged cancel the job ends as CANCELLED. A deadline or an expiry during the grace
# period stops the agent, but does not change the code.
# [arcp:7.4-1] [arcp:9.5-7]
hello a alice
# The deadline.
a> job.submit #1 {"agent":"echo","max_runtime_sec":2}
a< job.accepted {"job_id":"$t"}
a< job.event {"payload":{"kind":"status"}}
agent $t< {"type":"job.start"}
a> job.cancel #2 {"job_id":"$t"}
a< job.cancelled {"payload":{"job_id":"$t"}}
agent $t< {"type":"job.cancel","payload":{"reason":"client","grace_ms":30000}}
clock +1999ms
a< nothing
clock +1ms
a< job.error {"job_id":"$t","payload":{"code":"CANCELLED","final_status":"cancelled",
    "retryable":false}}
agent $t killed
# The expiry of the lease.
a> job.submit #3 {"agent":"echo","lease_constraints":{"expires_at":"$in_2s"}}
a< job.accepted {"job_id":"$e"}
a< job.event {"payload":{"kind":"status"}}
agent $e< {"type":"job.start"}
a> job.cancel #4 {"job_id":"$e"}
a< job.cancelled {"payload":{"job_id":"$e"}}
clock +2s
audit< {"event":"expiry","job_id":"$e","code":"LEASE_EXPIRED"}
a< job.error {"job_id":"$e","payload":{"code":"CANCELLED","final_status":"cancelled",
    "retryable":false}}
agent $e< {"type":"job.cancel","payload":{"reason":"client"}}
agent $e killed
# Without a cancel they have their own codes.
a> job.submit #5 {"agent":"echo","max_runtime_sec":2}
a< job.accepted {"job_id":"$o"}
a< job.event {"payload":{"kind":"status"}}
clock +2s
a< job.error {"job_id":"$o","payload":{"code":"TIMEOUT","final_status":"timed_out"}}
# After the end there is nothing to cancel.
a> job.cancel #6 {"job_id":"$o"}
a< job.error {"payload":{"code":"JOB_NOT_FOUND"}}
