# §9.6: the metric first, then what remains; debounced to a twentieth of the initial amount.
# [arcp:9.6-3] [arcp:9.6-4] [arcp:9.6-5] [arcp:9.6-11] [arcp:LA-19]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"tool.call":["**"],"cost.budget":["USD:100"]}}
a< job.accepted {"job_id":"$j","payload":{"budget":{"USD":100}}}
a< {"event_seq":1}
agent $j< {"type":"job.start","payload":{"budget":{"USD":100}}}
# The first decrement is always reported.
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":0.000000000000000001,"unit":"USD"}}}
a< {"event_seq":2,"payload":{"body":{"name":"cost.llm"}}}
a< {"event_seq":3,"payload":{"kind":"metric",
    "body":{"name":"cost.budget.remaining","value":99.999999999999999999,"unit":"USD"}}}
# Less than a twentieth since: no report.
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":4.999999999999999999,"unit":"USD"}}}
a< {"event_seq":4,"payload":{"body":{"name":"cost.llm"}}}
agent $j> mark
a< {"event_seq":5,"payload":{"kind":"log"}}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":0.000000000000000001,"unit":"USD"}}}
a< {"event_seq":6,"payload":{"body":{"name":"cost.llm"}}}
a< {"event_seq":7,"payload":{"body":{"name":"cost.budget.remaining","value":94.999999999999999999}}}
# Other units, other names and zero amounts spend nothing.
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":50,"unit":"EUR"}}}
a< {"event_seq":8}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"tokens","value":50,"unit":"USD"}}}
a< {"event_seq":9}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":-0,"unit":"USD"}}}
a< {"event_seq":10}
# The agent gets an error, and nothing is subtracted.
agent $j> {"type":"job.event","id":"n1",
    "payload":{"kind":"metric","body":{"name":"cost.llm","value":-1e-18,"unit":"USD"}}}
agent $j< {"re":"n1","payload":{"error":{"code":"INVALID_REQUEST","retryable":false}}}
agent $j> {"type":"job.event","id":"n2",
    "payload":{"kind":"metric","body":{"name":"cost.llm","value":"50","unit":"USD"}}}
agent $j< {"re":"n2","payload":{"error":{"code":"INVALID_REQUEST"}}}
a> job.subscribe #2 {"job_id":"$j"}
a< job.subscribed {"payload":{"budget":{"USD":94.999999999999999999}}}
# More than the remaining budget: the overspending is reported, and the gate denies.
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":100,"unit":"USD"}}}
a< {"event_seq":11}
a< {"event_seq":12,"payload":{"body":{"name":"cost.budget.remaining",
    "value":-5.000000000000000001}}}
agent $j> {"type":"job.event","id":"t",
    "payload":{"kind":"tool_call","body":{"tool":"t","call_id":"c"}}}
a< {"event_seq":13,"payload":{"kind":"tool_result",
    "body":{"call_id":"c",
    "error":{"code":"BUDGET_EXHAUSTED","retryable":false,
    "details":{"capability":"tool.call","target":"t","reason":"BUDGET","currency":"USD"}}}}}
agent $j< {"re":"t","payload":{"error":{"code":"BUDGET_EXHAUSTED"}}}
# The exact amount is known after a restart.
restart
hello b alice
b> job.subscribe #1 {"job_id":"$j"}
b< job.subscribed {"payload":{"current_status":"error","budget":{"USD":-5.000000000000000001}}}
