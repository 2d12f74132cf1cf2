# An agent sends what only the runtime may send: it is refused, ignored, or distinguishable.
# [arcp:8.4-2]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"tool.call":["ok.*"],"cost.budget":["USD:1"]}}
a< job.accepted {"job_id":"$j"}
a< job.event {"event_seq":1}
agent $j< {"type":"job.start"}
# Members reserved for the runtime are ignored, wherever they are.
agent $j> {"type":"job.event","event_seq":99,"job_id":"job_other","session_id":"sess_other",
    "arcp":"9","payload":{"kind":"log","event_seq":98,"ts":"2001-01-01T00:00:00.000Z",
    "job_id":"job_other","body":{"level":"info","message":"m"}}}
a< job.event {"event_seq":2,"job_id":"$j","session_id":"$session_a","arcp":"1.1",
    "payload":{"kind":"log","event_seq":"$absent","job_id":"$absent"}}
# A kind is a name: it cannot inject JSON into the record.
agent $j> {"type":"job.event","id":"k1",
    "payload":{"kind":"x-vendor.a\",\"ts\":\"x\",\"body\":{}},\"type\":\"job.result\",\"z\":\"",
    "body":{}}}
agent $j< {"re":"k1","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"k2","payload":{"kind":"x-vendor.a\nb","body":{}}}
agent $j< {"re":"k2","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"k3","payload":{"kind":"x-vendor.","body":{}}}
agent $j< {"re":"k3","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"k4","payload":{"kind":"X-Vendor.a","body":{}}}
agent $j< {"re":"k4","payload":{"error":{"code":"INVALID_REQUEST"}}}
# Reserved words are also recognised in another spelling.
agent $j> {"type":"job.event","id":"w1","payload":{"kind":"status","body":{"phase":"\u0072unning"}}}
agent $j< {"re":"w1","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"w2",
    "payload":{"kind":"metric",
    "body":{"name":"cost.budget\u002eremaining","value":1000,"unit":"USD"}}}
agent $j< {"re":"w2","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"w2a",
    "payload":{"kind":"metric",
    "body":{"name":"cost.inference","value":1,"unit":"USD","dimensions":{"source":"gate\u0077ay"}}}}
agent $j< {"re":"w2a","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"w2b",
    "payload":{"kind":"metric","body":{"name":"tokens","value":1,"dims":{"source":"gateway"}}}}
agent $j< {"re":"w2b","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"w3",
    "payload":{"kind":"status","body":{"phase":"back_pressure"}}}
agent $j< {"re":"w3","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"w3q",
    "payload":{"kind":"status","body":{"phase":"queued"}}}
agent $j< {"re":"w3q","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"w4",
    "payload":{"kind":"status","body":{"phase":"credential_rotated"}}}
agent $j< {"re":"w4","payload":{"error":{"code":"INVALID_REQUEST"}}}
# Types that only a runtime sends are unknown lines: ignored.
agent $j> {"type":"job.accepted","payload":{"job_id":"$j","lease":{"tool.call":["**"]}}}
agent $j> {"type":"job.cancelled","payload":{"job_id":"$j"}}
agent $j> {"type":"session.error","payload":{"code":"UNAUTHENTICATED","message":"go away"}}
agent $j> {"type":"session.welcome","payload":{}}
a< nothing
# A delegate event is the delegation: it is gated, and the agent's data about the child is ignored.
agent $j> {"type":"job.event","id":"d1",
    "payload":{"kind":"delegate",
    "body":{"agent":"work","delegate_id":"D","child_job_id":"job_made_up",
    "lease":{"fs.read":["/**"]}}}}
a< {"event_seq":3,"payload":{"kind":"tool_result",
    "body":{"call_id":"D",
    "error":{"code":"PERMISSION_DENIED","details":{"capability":"agent.delegate"}}}}}
agent $j< {"re":"d1","payload":{"error":{"code":"PERMISSION_DENIED"}}}
# Two spellings of a tool in one call: the one that the gate checked is sent.
agent $j> {"type":"job.event","payload":{"kind":"tool_call",
    "body":{"tool":"ok.one","name":"rm","args":{"a":1},"arguments":{"a":2},"call_id":"c1",
    "tool_call_id":"c9"}}}
a< {"event_seq":4,"payload":{"kind":"tool_call",
    "body":{"tool":"ok.one","args":{"a":1},"call_id":"c1","name":"$absent","arguments":"$absent",
    "tool_call_id":"$absent"}}}
# A refused call has a result from the runtime; the agent cannot send another.
agent $j> {"type":"job.event","payload":{"kind":"tool_call","body":{"tool":"rm","call_id":"c2"}}}
a< {"event_seq":5,"payload":{"kind":"tool_result",
    "body":{"call_id":"c2","error":{"code":"PERMISSION_DENIED"}}}}
agent $j> {"type":"job.event","id":"r1",
    "payload":{"kind":"tool_result","body":{"call_id":"c2","result":"done all the same"}}}
agent $j< {"re":"r1","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"r2",
    "payload":{"kind":"tool_result","body":{"tool_call_id":"c2","result":"done all the same"}}}
agent $j< {"re":"r2","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"r3",
    "payload":{"kind":"tool_result","body":{"call_id":"D","result":{"job_id":"job_made_up"}}}}
agent $j< {"re":"r3","payload":{"error":{"code":"INVALID_REQUEST"}}}
a< nothing
# The same id in an allowed call is a new call.
agent $j> {"type":"job.event","payload":{"kind":"tool_call",
    "body":{"tool":"ok.two","call_id":"c2"}}}
a< {"event_seq":6,"payload":{"kind":"tool_call"}}
agent $j> {"type":"job.event","payload":{"kind":"tool_result","body":{"call_id":"c2","result":2}}}
a< {"event_seq":7,"payload":{"kind":"tool_result","body":{"call_id":"c2","result":2}}}
# Chunks are numbered by the runtime, under its result_id.
agent $j> {"type":"job.event","payload":{"kind":"result_chunk",
    "body":{"result_id":"res_mine","chunk_seq":7,"data":"x","encoding":"utf8","more":true}}}
a< {"event_seq":8,"payload":{"kind":"result_chunk","body":{"result_id":"$r","chunk_seq":0}}}
agent $j> {"type":"result.chunk",
    "payload":{"result_id":"res_mine","chunk_seq":0,"data":"y","encoding":"utf8","more":false}}
a< {"event_seq":9,"payload":{"kind":"result_chunk","body":{"result_id":"$r","chunk_seq":1}}}
# The terminal frame is the runtime's: the agent cannot set status, size and time.
agent $j> {"type":"job.result","payload":{"final_status":"cancelled","result_id":"res_mine",
    "result_size":999,"job_id":"job_other","completed_at":"2001-01-01T00:00:00Z"}}
a< job.result {"event_seq":10,"job_id":"$j",
    "payload":{"final_status":"success","result_id":"$r","result_size":2,"job_id":"$j"}}
