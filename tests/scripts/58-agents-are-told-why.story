# arcp-agent(7): job.cancel has the reason and the time limit; only a client's cancel has a grace period.
# (The clock keeps this story in memory: a process is often ended before it has read the line.)
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"agent.delegate":["**"]},"max_runtime_sec":10}
a< job.accepted {"job_id":"$p"}
a< {"payload":{"kind":"status"}}
agent $p< {"type":"job.start"}
agent $p> {"type":"delegate","payload":{"agent":"work"}}
a< job.accepted {"job_id":"$c"}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$c","payload":{"kind":"status"}}
agent $c< {"type":"job.start"}
clock +10s
a< job.error {"job_id":"$p","payload":{"code":"TIMEOUT"}}
a< job.error {"job_id":"$c","payload":{"code":"CANCELLED"}}
agent $p< {"type":"job.cancel","payload":{"reason":"timeout","grace_ms":0}}
agent $c< {"type":"job.cancel","payload":{"reason":"parent","grace_ms":0}}
a> job.submit #2 {"agent":"echo","lease_constraints":{"expires_at":"$in_5s"}}
a< job.accepted {"job_id":"$e"}
a< {"payload":{"kind":"status"}}
agent $e< {"type":"job.start"}
clock +5s
a< job.error {"job_id":"$e","payload":{"code":"LEASE_EXPIRED"}}
agent $e< {"type":"job.cancel","payload":{"reason":"lease_expired","grace_ms":0}}
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$u"}
a< {"payload":{"kind":"status"}}
agent $u< {"type":"job.start"}
a> job.cancel #4 {"job_id":"$u"}
a< job.cancelled
agent $u< {"type":"job.cancel","payload":{"reason":"client","grace_ms":30000}}
