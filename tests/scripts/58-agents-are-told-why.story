# arcp-agent(7): job.cancel says why and how long; what is not a client's cancel has no grace.
# (The clock keeps this story in memory: a process is often ended before it has read the line.)
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","lease_request":{"agent.delegate":["**"]},"max_runtime_sec":10}}
a< {"type":"job.accepted","job_id":"$p"}
a< {"payload":{"kind":"status"}}
agent $p< {"type":"job.start"}
agent $p> {"type":"delegate","payload":{"agent":"work"}}
a< {"type":"job.accepted","job_id":"$c"}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$c","payload":{"kind":"status"}}
agent $c< {"type":"job.start"}
clock +10s
a< {"type":"job.error","job_id":"$p","payload":{"code":"TIMEOUT"}}
a< {"type":"job.error","job_id":"$c","payload":{"code":"CANCELLED"}}
agent $p< {"type":"job.cancel","payload":{"reason":"timeout","grace_ms":0}}
agent $c< {"type":"job.cancel","payload":{"reason":"parent","grace_ms":0}}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo","lease_constraints":{"expires_at":"$in_5s"}}}
a< {"type":"job.accepted","job_id":"$e"}
a< {"payload":{"kind":"status"}}
agent $e< {"type":"job.start"}
clock +5s
a< {"type":"job.error","job_id":"$e","payload":{"code":"LEASE_EXPIRED"}}
agent $e< {"type":"job.cancel","payload":{"reason":"lease_expired","grace_ms":0}}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$u"}
a< {"payload":{"kind":"status"}}
agent $u< {"type":"job.start"}
a> {"arcp":"1.1","id":"4","type":"job.cancel","payload":{"job_id":"$u"}}
a< {"type":"job.cancelled"}
agent $u< {"type":"job.cancel","payload":{"reason":"client","grace_ms":30000}}
