# §7.2: submits with one key at the same time are one job; whoever of the submitters cancels it.
# [arcp:7.2-1]
hello(a, alice)
hello(b, alice)
hello(c, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"K"}}
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"K"}}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo","idempotency_key":"K"}}
c> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"K"}}
a< {"type":"job.accepted","id":"1","job_id":"$j"}
b< {"type":"job.accepted","id":"1","job_id":"$j"}
c< {"type":"job.accepted","id":"1","job_id":"$j"}
b< {"type":"job.event","event_seq":1,"payload":{"kind":"status","body":{"phase":"running"}}}
c< {"type":"job.event","event_seq":1}
c> {"arcp":"1.1","id":"2","type":"session.list_jobs","payload":{}}
c< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$j"}]}}
b> {"arcp":"1.1","id":"2","type":"job.cancel","payload":{"job_id":"$j"}}
b< {"type":"job.cancelled","job_id":"$j"}
agent $j exits 0
b< {"type":"job.error","event_seq":2,"payload":{"code":"CANCELLED"}}
c< {"type":"job.error","event_seq":2,"payload":{"code":"CANCELLED"}}
