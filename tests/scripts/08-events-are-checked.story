# docs/protocol.md, Events: bodies of the ten kinds, and events that only the runtime may send.
# [arcp:8.2.1-2]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"tool.call":["**"]}}
a< job.accepted {"job_id":"$j"}
a< job.event
agent $j< {"type":"job.start"}
agent $j> {"type":"job.event","id":"1","payload":{"kind":"progress","body":{"current":-1}}}
agent $j< {"type":"reply","re":"1",
    "payload":{"error":{"code":"INVALID_REQUEST",
    "message":"body.current is -1, must be a number of 0 or more","retryable":false}}}
agent $j> {"type":"job.event","id":"2","payload":{"kind":"status","body":{"phase":"running"}}}
agent $j< {"type":"reply","re":"2","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"3",
    "payload":{"kind":"metric","body":{"name":"cost.budget.remaining","value":9,"unit":"USD"}}}
agent $j< {"type":"reply","re":"3","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"4","payload":{"kind":"made_up","body":{}}}
agent $j< {"type":"reply","re":"4","payload":{"error":{"code":"INVALID_REQUEST"}}}
a< nothing
agent $j> {"type":"job.event","payload":{"kind":"x-vendor.acme.note","body":{"a":[1, 2]}}}
a< {"payload":{"kind":"x-vendor.acme.note","body":{"a":[1,2]}}}
agent $j> {"type":"job.event","payload":{"kind":"tool_call",
    "body":{"name":"grep","arguments":{"p":"x"},"tool_call_id":"c1"}}}
a< {"payload":{"kind":"tool_call",
    "body":{"tool":"grep","args":{"p":"x"},"call_id":"c1","name":"$absent"}}}
agent $j> {"type":"job.event","payload":{"kind":"tool_result",
    "body":{"call_id":"c1","error":{"code":"TIMEOUT","message":"slow"}}}}
a< {"payload":{"kind":"tool_result",
    "body":{"call_id":"c1","error":{"code":"TIMEOUT","retryable":true}}}}
agent $j> {"type":"job.event","payload":{"kind":"log",
    "body":{"level":"WARNING","message":"m","extra":1}}}
a< {"payload":{"kind":"log","body":{"level":"warn","message":"m","extra":1}}}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"n","value":1e3,"dims":{"k":"v"}}}}
a< {"payload":{"kind":"metric","body":{"value":1000,"dimensions":{"k":"v"}}}}
