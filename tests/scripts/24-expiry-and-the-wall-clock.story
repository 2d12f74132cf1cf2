# §9.4, §9.5: setting the wall clock back extends no lease, and not a child's either.
# [arcp:14-4]
setting lease.on_expiry deny
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"tool.call":["**"],"agent.delegate":["**"]},
    "lease_constraints":{"expires_at":"2026-01-01T00:00:10Z"}}
a< job.accepted {"job_id":"$p"}
a< job.event
agent $p< {"type":"job.start"}
wall -1h
agent $p> {"type":"delegate","id":"d",
    "payload":{"agent":"work","lease_request":{"tool.call":["**"],"agent.delegate":["**"]}}}
a< job.accepted {"job_id":"$c","payload":{"lease_constraints":{"expires_at":"2026-01-01T00:00:10Z"}}}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$c","payload":{"kind":"status"}}
agent $p< {"re":"d","payload":{"job_id":"$c"}}
agent $c< {"type":"job.start"}
clock +9999ms
agent $c> {"type":"authorize","id":"1","payload":{"capability":"tool.call","target":"t"}}
agent $c< {"re":"1","payload":{"allow":true}}
# The parent's lease ends now, and the child's with it.
clock +1ms
agent $c> {"type":"authorize","id":"2","payload":{"capability":"tool.call","target":"t"}}
agent $c< {"re":"2","payload":{"error":{"code":"LEASE_EXPIRED"}}}
agent $p> {"type":"authorize","id":"3","payload":{"capability":"tool.call","target":"t"}}
agent $p< {"re":"3","payload":{"error":{"code":"LEASE_EXPIRED"}}}
