# §9.6: exact, the metric first, then the report; exhausted means no more gated operations.
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","lease_request":{"tool.call":["**"],"cost.budget":["USD:0.20","USD:0.10","EUR:5"]}}}
a< {"type":"job.accepted","job_id":"$j","payload":{"budget":{"USD":0.3,"EUR":5}}}
a< {"type":"job.event"}
agent $j< {"type":"job.start"}
agent $j> {"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.llm","value":0.1,"unit":"USD"}}}
a< {"payload":{"kind":"metric","body":{"name":"cost.llm","value":0.1}}}
a< {"payload":{"kind":"metric","body":{"name":"cost.budget.remaining","value":0.2,"unit":"USD"}}}
agent $j> {"type":"job.event","id":"n","payload":{"kind":"metric","body":{"name":"cost.llm","value":-0.1,"unit":"USD"}}}
agent $j< {"re":"n","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.llm","value":0.1,"unit":"GBP"}}}
a< {"payload":{"body":{"unit":"GBP"}}}
agent $j> {"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.llm","value":0.1,"unit":"USD"}}}
a< {"payload":{"body":{"name":"cost.llm"}}}
a< {"payload":{"body":{"name":"cost.budget.remaining","value":0.1}}}
agent $j> {"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.llm","value":0.1,"unit":"USD"}}}
a< {"payload":{"body":{"name":"cost.llm"}}}
a< {"payload":{"body":{"name":"cost.budget.remaining","value":0}}}
agent $j> {"type":"job.event","payload":{"kind":"tool_call","body":{"tool":"t","call_id":"c"}}}
a< {"payload":{"kind":"tool_result","body":{"error":{"code":"BUDGET_EXHAUSTED","retryable":false}}}}
# The job is not killed by it.
agent $j> still here
a< {"payload":{"kind":"log"}}
agent $j> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result"}
