# §9.5: after the expiry every gated operation fails, and the job ends, also without an operation.
# [arcp:7.1-2] [arcp:9.5-1] [arcp:9.5-7] [arcp:9.5-8] [arcp:LB-5]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"tool.call":["**"]},
    "lease_constraints":{"expires_at":"2026-01-01T00:00:10Z"}}
a< job.accepted {"job_id":"$j","payload":{"lease_constraints":{"expires_at":"2026-01-01T00:00:10Z"}}}
a< job.event
clock +9999ms
a< nothing
agent $j> {"type":"job.event","payload":{"kind":"tool_call","body":{"tool":"t","call_id":"c"}}}
a< {"payload":{"kind":"tool_call"}}
clock +1ms
a< job.error {"payload":{"code":"LEASE_EXPIRED","final_status":"error","retryable":false}}
agent $j killed
# An expiry years ahead does not end the job.
a> job.submit #2 {"agent":"echo","lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"}}
a< job.accepted {"job_id":"$k"}
a< job.event
clock +10s
a< nothing
