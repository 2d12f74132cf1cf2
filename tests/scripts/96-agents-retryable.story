# §12, errors guide: an agent may set `retryable` of its error, except for the three codes for which it is
# fixed.
# [arcp:12-3] [arcp:12-4] [arcp:EG-3]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< {"payload":{"kind":"status"}}
agent $j1> {"type":"job.error","payload":{"code":"LEASE_EXPIRED","message":"m","retryable":true}}
a< job.error {"payload":{"code":"LEASE_EXPIRED","retryable":false,"final_status":"error"}}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$j2"}
a< {"payload":{"kind":"status"}}
agent $j2> {"type":"job.error","payload":{"code":"BUDGET_EXHAUSTED","message":"m","retryable":true}}
a< job.error {"payload":{"code":"BUDGET_EXHAUSTED","retryable":false,"final_status":"error"}}
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$j3"}
a< {"payload":{"kind":"status"}}
agent $j3> {"type":"job.error","payload":{"code":"INTERNAL_ERROR","message":"m","retryable":false}}
a< job.error {"payload":{"code":"INTERNAL_ERROR","retryable":true}}
# For other codes the agent decides; without `retryable` the default of the code applies.
a> job.submit #4 {"agent":"echo"}
a< job.accepted {"job_id":"$j4"}
a< {"payload":{"kind":"status"}}
agent $j4> {"type":"job.error","payload":{"code":"PERMISSION_DENIED","message":"m",
    "retryable":true}}
a< job.error {"payload":{"code":"PERMISSION_DENIED","retryable":true}}
a> job.submit #5 {"agent":"echo"}
a< job.accepted {"job_id":"$j5"}
a< {"payload":{"kind":"status"}}
agent $j5> {"type":"job.error","payload":{"code":"PERMISSION_DENIED","message":"m"}}
a< job.error {"payload":{"code":"PERMISSION_DENIED","retryable":false}}
a> job.submit #6 {"agent":"echo"}
a< job.accepted {"job_id":"$j6"}
a< {"payload":{"kind":"status"}}
agent $j6> {"type":"job.error","payload":{"code":"TIMEOUT","message":"m","retryable":false}}
a< job.error {"payload":{"code":"TIMEOUT","retryable":false}}
