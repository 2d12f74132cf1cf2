# A tool_result has exactly one of result and error; the null of the other one is not relayed.
# [arcp:8.2-1]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< job.event
agent $j> {"type":"job.event","payload":{"kind":"tool_result",
    "body":{"call_id":"c","result":1,"error":null}}}
a< {"payload":{"kind":"tool_result","body":{"call_id":"c","result":1,"error":"$absent"}}}
agent $j> {"type":"job.event","payload":{"kind":"tool_result",
    "body":{"call_id":"c","output":null,"error":{"code":"TIMEOUT","message":"m"}}}}
a< {"payload":{"kind":"tool_result",
    "body":{"call_id":"c","result":"$absent","output":"$absent","error":{"code":"TIMEOUT"}}}}
# A result may be null.
agent $j> {"type":"job.event","payload":{"kind":"tool_result","body":{"call_id":"c","result":null}}}
a< {"payload":{"kind":"tool_result","body":{"call_id":"c","result":null}}}
agent $j> {"type":"job.event","payload":{"kind":"tool_result",
    "body":{"call_id":"c","output":null,"error":null}}}
a< {"payload":{"kind":"tool_result","body":{"call_id":"c","result":null,"error":"$absent"}}}
