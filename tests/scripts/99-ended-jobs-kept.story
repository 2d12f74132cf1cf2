# docs/protocol.md: so many ended jobs are kept at most; the one that ended first is forgotten first.
setting jobs.keep_terminal_max 2
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k"}}
a< {"type":"job.accepted","job_id":"$first"}
a< {"event_seq":1}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$second"}
a< {"event_seq":2}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$third"}
a< {"event_seq":3}
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
a< {"type":"job.result","event_seq":4,"job_id":"$second"}
agent $first> {"type":"job.result","payload":{}}
agent $first exits 0
a< {"type":"job.result","event_seq":5,"job_id":"$first"}
clock +1s
# Two are kept; what runs is not counted.
a> {"arcp":"1.1","id":"4","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$first"},{"job_id":"$second"},{"job_id":"$third","status":"running"}]}}
agent $third> {"type":"job.result","payload":{}}
agent $third exits 0
a< {"type":"job.result","event_seq":6,"job_id":"$third"}
a> {"arcp":"1.1","id":"5","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$first","status":"success"},{"job_id":"$third","status":"success"}]}}
a> {"arcp":"1.1","id":"6","type":"job.subscribe","payload":{"job_id":"$second","history":true}}
a< {"type":"job.error","event_seq":7,"payload":{"code":"JOB_NOT_FOUND","request_id":"6"}}
# The key of a job that is kept no longer still finds what it was answered with, and nobody waits for its end.
a> {"arcp":"1.1","id":"7","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$fourth"}
a< {"event_seq":8}
agent $fourth> {"type":"job.result","payload":{}}
agent $fourth exits 0
a< {"type":"job.result","event_seq":9}
a> {"arcp":"1.1","id":"8","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$third"},{"job_id":"$fourth"}]}}
a> {"arcp":"1.1","id":"9","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k"}}
a< {"type":"job.accepted","job_id":"$first","payload":{"request_id":"9"}}
a< {"type":"job.error","event_seq":10,"job_id":"$first","payload":{"final_status":"error","code":"JOB_NOT_FOUND","retryable":false,"job_id":"$first","request_id":"$absent"}}
a< nothing
