# queue: false: when the program of a job has exited, the next job is accepted. (Clients cannot see that it exited, so a real
# arcpd does not play this.)
max_jobs 1 refuses
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< {"payload":{"body":{"phase":"running"}}}
a> job.submit #2 {"agent":"echo"}
a< job.error {"id":"2","payload":{"code":"INTERNAL_ERROR","retryable":true,
    "details":{"limit":"max_jobs"}}}
agent $j1> {"type":"job.result","payload":{"result":1}}
a< job.result {"job_id":"$j1"}
agent $j1 exits 0
clock +1s
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"id":"3"}
a< {"payload":{"body":{"phase":"running"}}}
