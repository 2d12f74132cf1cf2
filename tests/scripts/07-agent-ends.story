# The line protocol: how the end of an agent ends its job.
# [arcp:EG-4] [arcp:EG-5] [arcp:EG-6]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< job.event
agent $j1 exits 3
a< job.error {"payload":{"code":"INTERNAL_ERROR","retryable":true,"details":{"exit_status":3}}}
# A line that begins with { and does not parse is a log, and exit 0 is then a failure.
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$j2"}
a< job.event
agent $j2> {"type":"job.result"
a< job.event {"payload":{"kind":"log","body":{"level":"error"}}}
agent $j2 exits 0
a< job.error {"payload":{"code":"INTERNAL_ERROR"}}
# An agent's own error: its code, its retryable within the rules of §12.
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$j3"}
a< job.event
agent $j3> {"type":"job.error","payload":{"code":"BUDGET_EXHAUSTED","message":"no more",
    "retryable":true,"details":{"a":1}}}
a< job.error {"payload":{"code":"BUDGET_EXHAUSTED","message":"no more","retryable":false,
    "final_status":"error","details":{"a":1}}}
a> job.submit #4 {"agent":"echo"}
a< job.accepted {"job_id":"$j4"}
a< job.event
agent $j4> {"type":"job.error","payload":{"code":"E_WHATEVER","message":"x","retryable":false}}
a< job.error {"payload":{"code":"INTERNAL_ERROR","retryable":true}}
a> job.submit #5 {"agent":"echo"}
a< job.accepted {"job_id":"$j5"}
a< job.event
agent $j5> {"type":"job.error","payload":{"code":"CANCELLED","message":"I stop"}}
a< job.error {"payload":{"code":"CANCELLED","final_status":"cancelled"}}
