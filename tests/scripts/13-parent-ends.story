# When a parent ends, its children end as CANCELLED.
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","lease_request":{"agent.delegate":["**"]}}}
a< {"type":"job.accepted","job_id":"$p"}
a< {"type":"job.event"}
agent $p> {"type":"delegate","payload":{"agent":"work","lease_request":{"agent.delegate":["**"]}}}
a< {"type":"job.accepted","job_id":"$c"}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$c","payload":{"kind":"status"}}
agent $c> {"type":"delegate","payload":{"agent":"work@2.0.0"}}
a< {"type":"job.accepted","job_id":"$g"}
a< {"job_id":"$c","payload":{"kind":"delegate"}}
a< {"job_id":"$g","payload":{"kind":"status"}}
agent $p> {"type":"job.result","payload":{}}
a< {"type":"job.result","job_id":"$p"}
a< {"type":"job.error","job_id":"$c","payload":{"code":"CANCELLED"}}
a< {"type":"job.error","job_id":"$g","payload":{"code":"CANCELLED"}}
