# §12: each of the fifteen codes in a real situation, with the same payload members: code, message,
# retryable, and details if there are any.
# [arcp:7.2-2] [arcp:12-1] [arcp:12-2] [arcp:EG-1]
# One shard: with several, a job of another principal is JOB_NOT_FOUND.
setting limits.jobs_per_session 3
hello a alice
hello b bob
# UNAUTHENTICATED: fatal for the session.
x> session.hello #h {"auth":{"scheme":"bearer","token":"nobody-has-this"}}
x< session.error {"session_id":"$_","payload":{"code":"UNAUTHENTICATED","message":"$_",
    "retryable":false}}
x< close 1008
# INVALID_REQUEST: the session goes on.
a> job.submit #1 {"agent":""}
a< job.error {"id":"1","payload":{"code":"INVALID_REQUEST",
    "message":"payload.agent is \"\", must be a non-empty string","retryable":false,
    "final_status":"error","request_id":"1","reply_to":"1"}}
# AGENT_NOT_AVAILABLE, AGENT_VERSION_NOT_AVAILABLE
a> job.submit #2 {"agent":"nobody"}
a< job.error {"payload":{"code":"AGENT_NOT_AVAILABLE","message":"there is no agent \"nobody\"",
    "retryable":false,"final_status":"error","request_id":"2"}}
a> job.submit #3 {"agent":"work@9"}
a< job.error {"payload":{"code":"AGENT_VERSION_NOT_AVAILABLE",
    "message":"agent \"work\" has no version \"9\"","retryable":false,"final_status":"error",
    "request_id":"3"}}
# DUPLICATE_KEY names the job that has the key.
a> job.submit #4 {"agent":"echo","idempotency_key":"K",
    "lease_request":{"tool.call":["ok"],"agent.delegate":["**"],"cost.budget":["USD:1"]}}
a< job.accepted {"job_id":"$j"}
a< {"payload":{"kind":"status"}}
a> job.submit #5 {"agent":"work","idempotency_key":"K"}
a< job.error {"job_id":"$fresh","payload":{"code":"DUPLICATE_KEY","message":"$_","retryable":false,
    "request_id":"5","details":{"job_id":"$j"}}}
# JOB_NOT_FOUND names the job that was meant; PERMISSION_DENIED on the wire: another principal's job.
b> job.cancel #1 {"job_id":"$j"}
b< job.error {"job_id":"$absent","payload":{"code":"JOB_NOT_FOUND","message":"$_","retryable":false,
    "request_id":"1","details":{"job_id":"$j"}}}
b> job.subscribe #2 {"job_id":"$j"}
b< job.error {"job_id":"$absent","payload":{"code":"PERMISSION_DENIED",
    "message":"the job belongs to another principal","retryable":false,"request_id":"2",
    "details":{"job_id":"$j"}}}
# PERMISSION_DENIED by the gate, LEASE_SUBSET_VIOLATION, BUDGET_EXHAUSTED: tool_results of the job.
agent $j> {"type":"job.event","payload":{"kind":"tool_call","body":{"tool":"no","call_id":"c1"}}}
a< {"job_id":"$j","payload":{"kind":"tool_result",
    "body":{"call_id":"c1",
    "error":{"code":"PERMISSION_DENIED","message":"tool.call of \"no\" is not covered by the lease",
    "retryable":false,"details":{"capability":"tool.call","target":"no","canonical":"no",
    "granted":["ok"],"reason":"NO_MATCH"}}}}}
agent $j> {"type":"delegate","payload":{"agent":"work","delegate_id":"D",
    "lease_request":{"tool.call":["ok","no"]}}}
a< {"job_id":"$j","payload":{"kind":"tool_result",
    "body":{"call_id":"D",
    "error":{"code":"LEASE_SUBSET_VIOLATION","message":"$_","retryable":false,
    "details":{"capability":"tool.call","child_pattern":"no","witness":"no"}}}}}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.x","value":1,"unit":"USD"}}}
a< {"payload":{"body":{"name":"cost.x"}}}
a< {"payload":{"body":{"name":"cost.budget.remaining"}}}
agent $j> {"type":"job.event","payload":{"kind":"tool_call","body":{"tool":"ok","call_id":"c2"}}}
a< {"job_id":"$j","payload":{"kind":"tool_result",
    "body":{"call_id":"c2",
    "error":{"code":"BUDGET_EXHAUSTED","message":"$_","retryable":false,
    "details":{"capability":"tool.call","target":"ok","reason":"BUDGET","currency":"USD"}}}}}
# CANCELLED, LEASE_EXPIRED, TIMEOUT, INTERNAL_ERROR: ends of jobs.
a> job.cancel #6 {"job_id":"$j"}
a< job.cancelled
agent $j exits 0
a< job.error {"job_id":"$j","payload":{"code":"CANCELLED","message":"the job was cancelled",
    "retryable":false,"final_status":"cancelled","job_id":"$j","completed_at":"$_",
    "request_id":"$absent"}}
a> job.submit #7 {"agent":"echo","lease_constraints":{"expires_at":"$in_2s"}}
a< job.accepted {"job_id":"$e"}
a< {"payload":{"kind":"status"}}
later +2s
a< job.error {"job_id":"$e","payload":{"code":"LEASE_EXPIRED",
    "message":"the job's lease has expired","retryable":false,"final_status":"error","job_id":"$e"}}
a> job.submit #8 {"agent":"echo","max_runtime_sec":1}
a< job.accepted {"job_id":"$t"}
a< {"payload":{"kind":"status"}}
later +1s
a< job.error {"job_id":"$t","payload":{"code":"TIMEOUT",
    "message":"the job ran longer than max_runtime_sec","retryable":true,"final_status":"timed_out",
    "job_id":"$t"}}
a> job.submit #9 {"agent":"echo"}
a< job.accepted {"job_id":"$i"}
a< {"payload":{"kind":"status"}}
agent $i exits 3
a< job.error {"job_id":"$i","payload":{"code":"INTERNAL_ERROR",
    "message":"the agent ended with exit status 3","retryable":true,"final_status":"error",
    "details":{"exit_status":3},"job_id":"$i"}}
# INTERNAL_ERROR: too many jobs, with the name of the limit; one job fewer is accepted.
a> job.submit #10 {"agent":"echo"}
a< job.accepted
a< {"payload":{"kind":"status"}}
a> job.submit #11 {"agent":"echo"}
a< job.accepted
a< {"payload":{"kind":"status"}}
a> job.submit #12 {"agent":"echo"}
a< job.accepted
a< {"payload":{"kind":"status"}}
a> job.submit #13 {"agent":"echo"}
a< job.error {"payload":{"code":"INTERNAL_ERROR",
    "message":"too many running jobs (limits.jobs_per_session)","retryable":true,"request_id":"13",
    "details":{"limit":"limits.jobs_per_session"}}}
# RESUME_WINDOW_EXPIRED: an unknown token.
y> session.resume #r {"auth":{"scheme":"bearer","token":"t-alice"},"session_id":"$session_a",
    "resume_token":"made up","last_event_seq":0}
y< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED","message":"$_","retryable":false}}
