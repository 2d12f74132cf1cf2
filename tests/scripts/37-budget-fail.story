# budget.on_exhaustion: fail: the job ends right after the metric that takes a counter below zero,
# or at the first gated operation at or below it.
# [arcp:7.3-2] [arcp:9.6-7] [arcp:9.6-8] [arcp:LB-9]
setting budget.on_exhaustion fail
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"tool.call":["**"],"cost.budget":["USD:10"]}}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":10,"unit":"USD"}}}
a< {"event_seq":2}
a< {"event_seq":3,"payload":{"body":{"name":"cost.budget.remaining","value":0}}}
# At zero it may still send events; the smallest amount below zero ends it, even without a report.
agent $j> still here
a< {"event_seq":4,"payload":{"kind":"log"}}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":0.001,"unit":"USD"}}}
a< {"event_seq":5,"payload":{"body":{"name":"cost.llm"}}}
a< job.error {"event_seq":6,"payload":{"code":"BUDGET_EXHAUSTED","message":"a budget is used up",
    "final_status":"error","retryable":false}}
agent $j killed
# The first gated operation at zero: its tool_result, then the end.
a> job.submit #2 {"agent":"echo","lease_request":{"tool.call":["**"],"cost.budget":["USD:0"]}}
a< job.accepted {"job_id":"$k","payload":{"lease":{"cost.budget":["USD:0"]},"budget":{"USD":0}}}
a< job.event
agent $k> {"type":"job.event","payload":{"kind":"tool_call","body":{"tool":"t","call_id":"c"}}}
a< {"job_id":"$k","payload":{"kind":"tool_result",
    "body":{"call_id":"c","error":{"code":"BUDGET_EXHAUSTED"}}}}
a< job.error {"job_id":"$k","payload":{"code":"BUDGET_EXHAUSTED","retryable":false}}
