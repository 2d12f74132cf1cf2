# Lease guide A: anchored patterns, one segment and many, schemes in lower case, tools with dots.
# [arcp:9.2-2] [arcp:LA-4] [arcp:LA-5] [arcp:LA-6] [arcp:LA-7] [arcp:LA-8] [arcp:LA-9]
# [arcp:LB-3]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"net.fetch":["https://api.example.com/v1/*",
    "https://deep.example.com/**","s3://reports/**.csv"],"tool.call":["web.*"],
    "fs.read":["/srv/*"]}}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j< {"type":"job.start"}
# One segment, not two; the pattern must match the whole target.
agent $j> {"type":"authorize","id":"1",
    "payload":{"capability":"net.fetch","target":"https://api.example.com/v1/users"}}
agent $j< {"re":"1","payload":{"allow":true}}
agent $j> {"type":"authorize","id":"2",
    "payload":{"capability":"net.fetch","target":"https://api.example.com/v1/users/42"}}
agent $j< {"re":"2","payload":{"error":{"code":"PERMISSION_DENIED"}}}
agent $j> {"type":"authorize","id":"3","payload":{"capability":"fs.read","target":"/data/srv/a"}}
agent $j< {"re":"3","payload":{"error":{"code":"PERMISSION_DENIED"}}}
agent $j> {"type":"authorize","id":"4","payload":{"capability":"fs.read","target":"/srv/a/b"}}
agent $j< {"re":"4","payload":{"error":{"code":"PERMISSION_DENIED"}}}
# Many segments; another host does not match.
agent $j> {"type":"authorize","id":"5",
    "payload":{"capability":"net.fetch","target":"https://deep.example.com/v1/users/42"}}
agent $j< {"re":"5","payload":{"allow":true}}
agent $j> {"type":"authorize","id":"6",
    "payload":{"capability":"net.fetch","target":"https://other.example.com/"}}
agent $j< {"re":"6","payload":{"error":{"code":"PERMISSION_DENIED"}}}
agent $j> {"type":"authorize","id":"7",
    "payload":{"capability":"net.fetch","target":"s3://reports/2026/W19.csv"}}
agent $j< {"re":"7","payload":{"allow":true}}
agent $j> {"type":"authorize","id":"8",
    "payload":{"capability":"net.fetch","target":"s3://reports/2026/W19.json"}}
agent $j< {"re":"8","payload":{"error":{"code":"PERMISSION_DENIED"}}}
# The scheme in any case; dots and slashes are resolved first.
agent $j> {"type":"authorize","id":"9",
    "payload":{"capability":"net.fetch","target":"HTTPS://api.example.com/v1/users"}}
agent $j< {"re":"9","payload":{"allow":true}}
agent $j> {"type":"authorize","id":"10",
    "payload":{"capability":"fs.read","target":"//srv/./x/../a"}}
agent $j< {"re":"10","payload":{"allow":true}}
# A dot parts the segments of a tool's name.
agent $j> {"type":"authorize","id":"11","payload":{"capability":"tool.call","target":"web.search"}}
agent $j< {"re":"11","payload":{"allow":true}}
agent $j> {"type":"authorize","id":"12",
    "payload":{"capability":"tool.call","target":"web.search.advanced"}}
agent $j< {"re":"12","payload":{"error":{"code":"PERMISSION_DENIED"}}}
