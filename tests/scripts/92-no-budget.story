# §7.1, §9.6: without cost.budget there are no counters, and no spending stops anything.
# [arcp:7.1-4]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"tool.call":["**"]}}
a< job.accepted {"job_id":"$j","payload":{"budget":"$absent"}}
a< {"event_seq":1}
agent $j< {"type":"job.start","payload":{"budget":"$absent"}}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":1000000,"unit":"USD"}}}
a< {"event_seq":2,"payload":{"kind":"metric","body":{"name":"cost.llm"}}}
agent $j> {"type":"job.event","payload":{"kind":"tool_call","body":{"tool":"t","call_id":"c"}}}
a< {"event_seq":3,"payload":{"kind":"tool_call","body":{"tool":"t"}}}
agent $j> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":4}
