# A job whose lease cannot be enforced well enough is refused before job.accepted, delegations too.
host refuses
hello a alice
a> job.submit #1 {"agent":"echo","idempotency_key":"k","lease_request":{"fs.read":["/proc/**"]}}
a< job.error {"payload":{"code":"PERMISSION_DENIED","retryable":false,
    "message":"fs.read /proc/** is refused, enforce.min is exact","details":{"capability":"fs.read",
    "pattern":"/proc/**","verdict":"refused","note":"the sandbox has its own","min":"exact"}}}
audit< {"event":"submit","decision":"denied","principal":"alice","code":"PERMISSION_DENIED"}
a< nothing

# A machine that cannot confine agents has none.
host is unavailable
a> job.submit #2 {"agent":"echo","idempotency_key":"k"}
a< job.error {"payload":{"code":"AGENT_NOT_AVAILABLE",
    "details":{"level":"none","missing":["userns"]}}}

# The refused submits have not used the key; a job that was accepted is not asked about again.
host confines
a> job.submit #3 {"agent":"echo","idempotency_key":"k",
    "lease_request":{"agent.delegate":["**"],"fs.read":["/srv/**"]}}
a< job.accepted {"job_id":"$j"}
a< job.event {"payload":{"body":{"phase":"enforcement"}}}
a< job.event {"payload":{"body":{"phase":"running"}}}
host refuses
a> job.submit #4 {"agent":"echo","idempotency_key":"k",
    "lease_request":{"agent.delegate":["**"],"fs.read":["/srv/**"]}}
a< job.accepted {"job_id":"$j"}
a< nothing

# The agent gets the reason why its delegation was refused.
agent $j< {"type":"job.start"}
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","delegate_id":"x"}}
a< job.event {"payload":{"kind":"tool_result","body":{"call_id":"x",
    "error":{"code":"PERMISSION_DENIED","details":{"verdict":"refused"}}}}}
agent $j< {"re":"d","payload":{"error":{"code":"PERMISSION_DENIED",
    "details":{"pattern":"/proc/**","min":"exact"}}}}
host confines
agent $j> {"type":"delegate","id":"e","payload":{"agent":"echo","delegate_id":"y"}}
agent $j< {"re":"e","payload":{"job_id":"$child"}}
