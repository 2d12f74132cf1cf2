# §9.5, lease.on_expiry: deny: operations fail from expiry on, and the agent decides.
# [arcp:9.5-4] [arcp:9.5-5] [arcp:9.5-6] [arcp:14-6] [arcp:LA-17]
setting lease.on_expiry deny
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"tool.call":["**"],"agent.delegate":["**"],
    "model.use":["*"],"cost.budget":["USD:0"]},"lease_constraints":{"expires_at":"$in_2s"}}
a< job.accepted {"job_id":"$j"}
a< job.event
agent $j< {"type":"job.start"}
later +2s
# The expiry is logged although no operation was requested, and the job goes on.
audit< {"event":"expiry","decision":"denied","principal":"alice","job_id":"$j"}
# An expired lease is reported before a used up budget.
agent $j> {"type":"job.event","id":"1",
    "payload":{"kind":"tool_call","body":{"tool":"t","call_id":"c"}}}
a< {"payload":{"kind":"tool_result",
    "body":{"call_id":"c",
    "error":{"code":"LEASE_EXPIRED","message":"$_","retryable":false,
    "details":{"capability":"tool.call","target":"t","reason":"EXPIRED","expires_at":"$in_2s"}}}}}
agent $j< {"re":"1","payload":{"error":{"code":"LEASE_EXPIRED"}}}
agent $j> {"type":"authorize","id":"2","payload":{"capability":"model.use","target":"m"}}
agent $j< {"re":"2","payload":{"error":{"code":"LEASE_EXPIRED","retryable":false}}}
agent $j> {"type":"delegate","id":"3","payload":{"agent":"work","delegate_id":"D"}}
a< {"payload":{"kind":"tool_result","body":{"call_id":"D","error":{"code":"LEASE_EXPIRED"}}}}
agent $j< {"re":"3","payload":{"error":{"code":"LEASE_EXPIRED"}}}
agent $j> I go on
a< {"payload":{"kind":"log"}}
agent $j> {"type":"job.result","payload":{"result":"partial"}}
a< job.result {"job_id":"$j","payload":{"result":"partial"}}
