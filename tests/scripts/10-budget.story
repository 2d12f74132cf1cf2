# §9.6: exact, the metric first, then the report; exhausted means no more gated operations.
# [arcp:7.1-2] [arcp:9.6-2] [arcp:9.6-4] [arcp:9.6-5] [arcp:9.6-6] [arcp:9.6-7] [arcp:9.6-8]
# [arcp:9.6-9] [arcp:9.6-11] [arcp:LA-18]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"tool.call":["**"],
    "cost.budget":["USD:0.20","USD:0.10","EUR:5"]}}
a< job.accepted {"job_id":"$j","payload":{"budget":{"USD":0.3,"EUR":5}}}
a< job.event
agent $j< {"type":"job.start"}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":0.1,"unit":"USD"}}}
a< {"payload":{"kind":"metric","body":{"name":"cost.llm","value":0.1}}}
a< {"payload":{"kind":"metric","body":{"name":"cost.budget.remaining","value":0.2,"unit":"USD"}}}
agent $j> {"type":"job.event","id":"n",
    "payload":{"kind":"metric","body":{"name":"cost.llm","value":-0.1,"unit":"USD"}}}
agent $j< {"re":"n","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"s",
    "payload":{"kind":"metric","body":{"name":"cost.llm","value":"5","unit":"USD"}}}
agent $j< {"re":"s","payload":{"error":{"code":"INVALID_REQUEST"}}}
# A value that is not a JSON number makes the line invalid: it is logged and spends nothing.
agent $j> {"type":"job.event","id":"x",
    "payload":{"kind":"metric","body":{"name":"cost.llm","value":NaN,"unit":"USD"}}}
a< {"payload":{"kind":"log","body":{"level":"error"}}}
agent $j> {"type":"job.event","id":"y",
    "payload":{"kind":"metric","body":{"name":"cost.llm","value":1.,"unit":"USD"}}}
a< {"payload":{"kind":"log","body":{"level":"error"}}}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":0.1,"unit":"GBP"}}}
a< {"payload":{"body":{"unit":"GBP"}}}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":0.1,"unit":"USD"}}}
a< {"payload":{"body":{"name":"cost.llm"}}}
a< {"payload":{"body":{"name":"cost.budget.remaining","value":0.1}}}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":0.1,"unit":"USD"}}}
a< {"payload":{"body":{"name":"cost.llm"}}}
a< {"payload":{"body":{"name":"cost.budget.remaining","value":0}}}
agent $j> {"type":"job.event","payload":{"kind":"tool_call","body":{"tool":"t","call_id":"c"}}}
a< {"payload":{"kind":"tool_result","body":{"error":{"code":"BUDGET_EXHAUSTED","retryable":false}}}}
# The job goes on.
agent $j> still here
a< {"payload":{"kind":"log"}}
agent $j> {"type":"job.result","payload":{"result":1}}
a< job.result
# A cost too large to be counted uses up the budget. It is not refused, because it was spent.
a> job.submit #2 {"agent":"echo","lease_request":{"tool.call":["**"],"cost.budget":["USD:5"]}}
a< job.accepted {"job_id":"$k","payload":{"budget":{"USD":5}}}
a< job.event
agent $k< {"type":"job.start"}
agent $k> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":1e400,"unit":"USD"}}}
a< {"payload":{"body":{"name":"cost.llm"}}}
a< {"payload":{"body":{"name":"cost.budget.remaining","unit":"USD"}}}
agent $k> {"type":"authorize","id":"z","payload":{"capability":"tool.call","target":"t"}}
agent $k< {"re":"z","payload":{"error":{"code":"BUDGET_EXHAUSTED"}}}
agent $k> {"type":"job.result","payload":{"result":1}}
a< job.result
