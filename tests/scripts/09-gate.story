# §9.3: the gate on tool_call and on authorize; a denied call is not sent to any client.
# [arcp:9.1-1] [arcp:9.1-2] [arcp:9.3-1] [arcp:9.3-2] [arcp:9.3-3] [arcp:9.7-4] [arcp:LA-9]
# [arcp:LA-12] [arcp:LA-14] [arcp:EG-10]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"tool.call":["web.*"],
    "fs.read":["/srv/**","notes/**"]}}
a< job.accepted {"job_id":"$j"}
a< job.event
agent $j< {"type":"job.start"}
agent $j> {"type":"job.event","id":"1",
    "payload":{"kind":"tool_call","body":{"tool":"web.search","call_id":"c1","args":{}}}}
a< {"event_seq":2,"payload":{"kind":"tool_call"}}
agent $j< {"type":"reply","re":"1","payload":{}}
agent $j> {"type":"job.event","id":"2",
    "payload":{"kind":"tool_call","body":{"tool":"web.search.deep","call_id":"c2","args":{}}}}
a< {"event_seq":3,"payload":{"kind":"tool_result",
    "body":{"call_id":"c2",
    "error":{"code":"PERMISSION_DENIED","retryable":false,
    "details":{"capability":"tool.call","target":"web.search.deep","granted":["web.*"]}}}}}
agent $j< {"type":"reply","re":"2","payload":{"error":{"code":"PERMISSION_DENIED"}}}
agent $j> {"type":"authorize","id":"3",
    "payload":{"capability":"fs.read","target":"/srv/../etc/passwd"}}
agent $j< {"type":"reply","re":"3",
    "payload":{"error":{"code":"PERMISSION_DENIED","details":{"canonical":"/etc/passwd"}}}}
agent $j> {"type":"authorize","id":"4","payload":{"capability":"fs.read","target":"/srv/./a//b"}}
agent $j< {"type":"reply","re":"4","payload":{"allow":true}}
agent $j> {"type":"authorize","id":"5","payload":{"capability":"model.use","target":"gpt"}}
agent $j< {"type":"reply","re":"5","payload":{"error":{"code":"PERMISSION_DENIED"}}}
agent $j> {"type":"authorize","id":"6","payload":{"capability":"fs.read"}}
agent $j< {"type":"reply","re":"6","payload":{"error":{"code":"INVALID_REQUEST"}}}
a< nothing
