# docs/protocol.md: the number of kept ended jobs is limited; the one that ended first is removed first.
setting jobs.keep_terminal_max 2
hello a alice
a> job.submit #1 {"agent":"echo","idempotency_key":"k"}
a< job.accepted {"job_id":"$first"}
a< {"event_seq":1}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$second"}
a< {"event_seq":2}
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$third"}
a< {"event_seq":3}
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
a< job.result {"event_seq":4,"job_id":"$second"}
agent $first> {"type":"job.result","payload":{}}
agent $first exits 0
a< job.result {"event_seq":5,"job_id":"$first"}
clock +1s
# Two are kept; running jobs are not counted.
a> session.list_jobs #4
a< session.jobs {"payload":{"jobs":[{"job_id":"$first"},{"job_id":"$second"},
    {"job_id":"$third","status":"running"}]}}
agent $third> {"type":"job.result","payload":{}}
agent $third exits 0
a< job.result {"event_seq":6,"job_id":"$third"}
a> session.list_jobs #5
a< session.jobs {"payload":{"jobs":[{"job_id":"$first","status":"success"},
    {"job_id":"$third","status":"success"}]}}
a> job.subscribe #6 {"job_id":"$second","history":true}
a< job.error {"event_seq":7,"payload":{"code":"JOB_NOT_FOUND","request_id":"6"}}
# The key of a removed job still returns its job.accepted, and an error instead of waiting for its end.
a> job.submit #7 {"agent":"echo"}
a< job.accepted {"job_id":"$fourth"}
a< {"event_seq":8}
agent $fourth> {"type":"job.result","payload":{}}
agent $fourth exits 0
a< job.result {"event_seq":9}
a> session.list_jobs #8
a< session.jobs {"payload":{"jobs":[{"job_id":"$third"},{"job_id":"$fourth"}]}}
a> job.submit #9 {"agent":"echo","idempotency_key":"k"}
a< job.accepted {"job_id":"$first","payload":{"request_id":"9"}}
a< job.error {"event_seq":10,"job_id":"$first",
    "payload":{"final_status":"error","code":"JOB_NOT_FOUND","retryable":false,"job_id":"$first",
    "request_id":"$absent"}}
a< nothing
