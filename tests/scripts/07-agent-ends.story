# The line protocol: how an agent's end becomes the job's.
# [arcp:EG-4] [arcp:EG-5] [arcp:EG-6]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j1"}
a< {"type":"job.event"}
agent $j1 exits 3
a< {"type":"job.error","payload":{"code":"INTERNAL_ERROR","retryable":true,"details":{"exit_status":3}}}
# A line that begins with { and does not parse is a log, and exit 0 is then a failure.
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j2"}
a< {"type":"job.event"}
agent $j2> {"type":"job.result"
a< {"type":"job.event","payload":{"kind":"log","body":{"level":"error"}}}
agent $j2 exits 0
a< {"type":"job.error","payload":{"code":"INTERNAL_ERROR"}}
# An agent's own error: its code, its retryable within the rules of §12.
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j3"}
a< {"type":"job.event"}
agent $j3> {"type":"job.error","payload":{"code":"BUDGET_EXHAUSTED","message":"no more","retryable":true,"details":{"a":1}}}
a< {"type":"job.error","payload":{"code":"BUDGET_EXHAUSTED","message":"no more","retryable":false,"final_status":"error","details":{"a":1}}}
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j4"}
a< {"type":"job.event"}
agent $j4> {"type":"job.error","payload":{"code":"E_WHATEVER","message":"x","retryable":false}}
a< {"type":"job.error","payload":{"code":"INTERNAL_ERROR","retryable":true}}
a> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j5"}
a< {"type":"job.event"}
agent $j5> {"type":"job.error","payload":{"code":"CANCELLED","message":"I stop"}}
a< {"type":"job.error","payload":{"code":"CANCELLED","final_status":"cancelled"}}
