# docs/protocol.md, Subscribe: authorization.hide_existence: a request about a hidden job gets exactly the
# response for a job that does not exist.
# [arcp:6.6-6]
# One shard: with several, existence is always hidden.
setting authorization.hide_existence true
hello a alice
hello b bob
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
b> job.subscribe #1 {"job_id":"$j"}
b< job.error {"id":"1","job_id":"$absent","trace_id":"$absent","event_seq":1,
    "payload":{"code":"JOB_NOT_FOUND","message":"$said","retryable":false,"final_status":"error",
    "details":{"job_id":"$j"}}}
audit< {"event":"subscribe","principal":"bob","job_id":"$j","decision":"denied"}
b> job.cancel #2 {"job_id":"$j"}
b< job.error {"event_seq":2,"payload":{"code":"JOB_NOT_FOUND","message":"$said"}}
b> job.subscribe #3 {"job_id":"job_00000000000000000000000000"}
b< job.error {"id":"3","job_id":"$absent","trace_id":"$absent","event_seq":3,
    "payload":{"code":"JOB_NOT_FOUND",
    "message":"there is no job \"job_00000000000000000000000000\"","retryable":false,
    "final_status":"error","details":{"job_id":"job_00000000000000000000000000"}}}
b> x-vendor.arcpd.end #4 {"job_id":"$j"}
b< job.error {"payload":{"code":"JOB_NOT_FOUND","message":"$said","request_id":"4"}}
# Its own principal sees it; a session that may not cancel it gets PERMISSION_DENIED.
hello c alice
c> job.cancel #1 {"job_id":"$j"}
c< job.error {"payload":{"code":"PERMISSION_DENIED"}}
c> job.subscribe #2 {"job_id":"$j"}
c< job.subscribed
