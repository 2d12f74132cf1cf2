# When a parent ends, its children end as CANCELLED.
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"agent.delegate":["**"]}}
a< job.accepted {"job_id":"$p"}
a< job.event
agent $p> {"type":"delegate","payload":{"agent":"work","lease_request":{"agent.delegate":["**"]}}}
a< job.accepted {"job_id":"$c"}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$c","payload":{"kind":"status"}}
agent $c> {"type":"delegate","payload":{"agent":"work@2.0.0"}}
a< job.accepted {"job_id":"$g"}
a< {"job_id":"$c","payload":{"kind":"delegate"}}
a< {"job_id":"$g","payload":{"kind":"status"}}
agent $p> {"type":"job.result","payload":{}}
a< job.result {"job_id":"$p"}
a< job.error {"job_id":"$c","payload":{"code":"CANCELLED"}}
a< job.error {"job_id":"$g","payload":{"code":"CANCELLED"}}
