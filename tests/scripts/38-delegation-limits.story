# Depth and fan-out, at and above each limit; a child spends the budget of its ancestors.
setting limits.delegation_depth 2
setting limits.children_per_job 2
hello a alice
a> job.submit #1 {"agent":"echo","max_runtime_sec":1000,
    "lease_request":{"agent.delegate":["**"],"tool.call":["t"],"cost.budget":["USD:3"]},
    "lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"}}
a< job.accepted {"job_id":"$p"}
a< {"payload":{"kind":"status"}}
# One level below, and two.
agent $p> {"type":"delegate","payload":{"agent":"echo",
    "lease_request":{"agent.delegate":["**"],"tool.call":["t"]}}}
a< job.accepted {"job_id":"$c","payload":{"parent_job_id":"$p","delegate_id":"$_",
    "lease":{"agent.delegate":["**"],"tool.call":["t"],"cost.budget":"$absent"},
    "lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"},"budget":"$absent"}}
a< {"job_id":"$p","payload":{"kind":"delegate"}}
a< {"job_id":"$c","payload":{"kind":"status"}}
agent $c> {"type":"delegate","payload":{"agent":"echo",
    "lease_request":{"agent.delegate":["**"],"tool.call":["t"]}}}
a< job.accepted {"job_id":"$g"}
a< {"job_id":"$c","payload":{"kind":"delegate"}}
a< {"job_id":"$g","payload":{"kind":"status"}}
# The third is one too many.
agent $g< {"type":"job.start","payload":{"parent_job_id":"$c"}}
agent $g> {"type":"delegate","id":"d","payload":{"agent":"echo","delegate_id":"G"}}
a< {"job_id":"$g","payload":{"kind":"tool_result",
    "body":{"call_id":"G",
    "error":{"code":"LEASE_SUBSET_VIOLATION","retryable":false,
    "details":{"limit":"limits.delegation_depth"}}}}}
agent $g< {"re":"d","payload":{"error":{"code":"LEASE_SUBSET_VIOLATION",
    "details":{"limit":"limits.delegation_depth"}}}}
# Two children may run at once, not three; an ended one makes room.
agent $p> {"type":"delegate","payload":{"agent":"echo"}}
a< job.accepted {"job_id":"$c2"}
a< {"job_id":"$p","payload":{"kind":"delegate"}}
a< {"job_id":"$c2","payload":{"kind":"status"}}
agent $p> {"type":"delegate","payload":{"agent":"echo","delegate_id":"F"}}
a< {"job_id":"$p","payload":{"kind":"tool_result",
    "body":{"call_id":"F",
    "error":{"code":"LEASE_SUBSET_VIOLATION","details":{"limit":"limits.children_per_job"}}}}}
agent $c2> {"type":"job.result","payload":{}}
a< job.result {"job_id":"$c2"}
agent $p> {"type":"delegate","payload":{"agent":"echo"}}
a< job.accepted {"job_id":"$c3"}
a< {"job_id":"$p","payload":{"kind":"delegate"}}
a< {"job_id":"$c3","payload":{"kind":"status"}}
agent $c3< {"type":"job.start","payload":{"parent_job_id":"$p"}}
# Spending of a grandchild without a budget is the root's: it is reported there, and denies all gates.
agent $g> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.x","value":3,"unit":"USD"}}}
a< {"job_id":"$g","payload":{"kind":"metric","body":{"name":"cost.x"}}}
a< {"job_id":"$p","payload":{"kind":"metric","body":{"name":"cost.budget.remaining","value":0}}}
agent $c> {"type":"job.event","payload":{"kind":"tool_call","body":{"tool":"t","call_id":"x"}}}
a< {"job_id":"$c","payload":{"kind":"tool_result",
    "body":{"error":{"code":"BUDGET_EXHAUSTED","details":{"currency":"USD"}}}}}
# When the root ends, all jobs below it end, each once, and their agents get the reason.
agent $p> {"type":"job.result","payload":{}}
a< job.result {"job_id":"$p"}
a< job.error {"job_id":"$c3","payload":{"code":"CANCELLED","final_status":"cancelled",
    "message":"the parent job has ended"}}
a< job.error {"job_id":"$c","payload":{"code":"CANCELLED"}}
a< job.error {"job_id":"$g","payload":{"code":"CANCELLED"}}
agent $c killed
agent $g killed
agent $c3 killed
