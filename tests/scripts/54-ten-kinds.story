# §8.2: each of the ten kinds as the draft has it; required members and their types.
# [arcp:8.1-1] [arcp:8.2-1] [arcp:8.4-4] [arcp:EG-9]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"tool.call":["**"],"agent.delegate":["**"]}}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1,"payload":{"kind":"status","ts":"$_","body":{"phase":"running"}}}
agent $j< {"type":"job.start"}
# Valid events; additional members of a body are relayed.
agent $j> {"type":"job.event","payload":{"kind":"log",
    "body":{"level":"debug","message":"","more":{"a":[]}}}}
a< {"event_seq":2,"payload":{"kind":"log","body":{"level":"debug","message":"","more":{"a":[]}}}}
agent $j> {"type":"job.event","payload":{"kind":"thought","body":{"text":"hm"}}}
a< {"event_seq":3,"payload":{"kind":"thought","body":{"text":"hm"}}}
agent $j> {"type":"job.event","payload":{"kind":"tool_call","body":{"tool":"t","call_id":"c"}}}
a< {"event_seq":4,"payload":{"kind":"tool_call","body":{"tool":"t","call_id":"c","args":{}}}}
agent $j> {"type":"job.event","payload":{"kind":"tool_result","body":{"call_id":"c","result":[1]}}}
a< {"event_seq":5,"payload":{"kind":"tool_result","body":{"call_id":"c","result":[1]}}}
agent $j> {"type":"job.event","payload":{"kind":"status",
    "body":{"phase":"compiling","message":"m"}}}
a< {"event_seq":6,"payload":{"kind":"status","body":{"phase":"compiling","message":"m"}}}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"n","value":-1.50,"unit":"s","dimensions":{"a":"b"}}}}
a< {"event_seq":7,"payload":{"kind":"metric",
    "body":{"name":"n","value":-1.5,"unit":"s","dimensions":{"a":"b"}}}}
agent $j> {"type":"job.event","payload":{"kind":"artifact_ref",
    "body":{"uri":"file:///x","content_type":"text/plain","byte_size":3,"sha256":"00"}}}
a< {"event_seq":8,"payload":{"kind":"artifact_ref",
    "body":{"uri":"file:///x","content_type":"text/plain","byte_size":3}}}
agent $j> {"type":"job.event","payload":{"kind":"progress",
    "body":{"current":5,"total":4,"units":"files","message":"m"}}}
a< {"event_seq":9,"payload":{"kind":"progress","body":{"current":5,"total":4,"units":"files"}}}
agent $j> {"type":"job.event","payload":{"kind":"delegate","body":{"agent":"work"}}}
a< job.accepted {"job_id":"$c"}
a< {"event_seq":10,"job_id":"$j",
    "payload":{"kind":"delegate",
    "body":{"child_job_id":"$c","agent":"work@1.0.0","input":null,"delegate_id":"$_"}}}
a< {"event_seq":11,"job_id":"$c"}
agent $j> {"type":"job.event","payload":{"kind":"result_chunk",
    "body":{"data":"","encoding":"utf8","more":true}}}
a< {"event_seq":12,"payload":{"kind":"result_chunk",
    "body":{"chunk_seq":0,"data":"","encoding":"utf8","more":true}}}
# Invalid events, each refused with the name of the member; they are not sent to any client.
agent $j> {"type":"job.event","id":"1","payload":{"kind":"log","body":{"message":"m"}}}
agent $j< {"re":"1","payload":{"error":{"code":"INVALID_REQUEST",
    "message":"body.level is missing, must be a non-empty string"}}}
agent $j> {"type":"job.event","id":"2",
    "payload":{"kind":"log","body":{"level":"loud","message":"m"}}}
agent $j< {"re":"2","payload":{"error":{"code":"INVALID_REQUEST",
    "message":"body.level is \"loud\", must be debug, info, warn or error"}}}
agent $j> {"type":"job.event","id":"3","payload":{"kind":"thought","body":{"text":1}}}
agent $j< {"re":"3","payload":{"error":{"code":"INVALID_REQUEST",
    "message":"body.text is 1, must be a string"}}}
agent $j> {"type":"job.event","id":"4","payload":{"kind":"tool_call","body":{"tool":"t"}}}
agent $j< {"re":"4","payload":{"error":{"code":"INVALID_REQUEST",
    "message":"body.call_id is missing, must be a non-empty string"}}}
agent $j> {"type":"job.event","id":"5","payload":{"kind":"tool_result","body":{"result":1}}}
agent $j< {"re":"5","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"6",
    "payload":{"kind":"tool_result","body":{"call_id":"c","error":"no"}}}
agent $j< {"re":"6","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"6a","payload":{"kind":"tool_result","body":{"call_id":"c"}}}
agent $j< {"re":"6a","payload":{"error":{"code":"INVALID_REQUEST",
    "message":"body has neither result nor error, must have one of them"}}}
agent $j> {"type":"job.event","id":"6b",
    "payload":{"kind":"tool_result",
    "body":{"call_id":"c","result":1,"error":{"code":"TIMEOUT","message":"m"}}}}
agent $j< {"re":"6b","payload":{"error":{"code":"INVALID_REQUEST",
    "message":"body has both result and error, must have one of them"}}}
agent $j> {"type":"job.event","id":"6c",
    "payload":{"kind":"tool_result","body":{"call_id":"c","error":null}}}
agent $j< {"re":"6c","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"7","payload":{"kind":"status","body":{}}}
agent $j< {"re":"7","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"8","payload":{"kind":"metric","body":{"name":"n","value":"1"}}}
agent $j< {"re":"8","payload":{"error":{"code":"INVALID_REQUEST",
    "message":"body.value is \"1\", must be a number"}}}
agent $j> {"type":"job.event","id":"9","payload":{"kind":"artifact_ref","body":{"uri":"u"}}}
agent $j< {"re":"9","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"10",
    "payload":{"kind":"progress","body":{"current":1,"total":-1}}}
agent $j< {"re":"10","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"11","payload":{"kind":"delegate","body":{}}}
agent $j< {"re":"11","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"12",
    "payload":{"kind":"result_chunk","body":{"data":"x","encoding":"utf16","more":true}}}
agent $j< {"re":"12","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"13","payload":{"kind":"log"}}
agent $j< {"re":"13","payload":{"error":{"code":"INVALID_REQUEST",
    "message":"body must be an object"}}}
agent $j> {"type":"job.event","id":"14","payload":{"body":{}}}
agent $j< {"re":"14","payload":{"error":{"code":"INVALID_REQUEST"}}}
# For a line without an id, the error is a log event, so that it is not lost.
agent $j> {"type":"job.event","payload":{"kind":"thought","body":{}}}
a< {"event_seq":13,"payload":{"kind":"log",
    "body":{"level":"error","message":"body.text is missing, must be a string"}}}
# A vendor event is not checked, whatever its name.
agent $j> {"type":"job.event","payload":{"kind":"x-vendor.cost.budget.remaining",
    "body":{"value":9}}}
a< {"event_seq":14,"payload":{"kind":"x-vendor.cost.budget.remaining","body":{"value":9}}}
agent $j> {"type":"job.event","payload":{"kind":"x-vendor.acme.ping"}}
a< {"event_seq":15,"payload":{"kind":"x-vendor.acme.ping","body":{}}}
