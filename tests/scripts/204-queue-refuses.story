# queue: false: a submit beyond max_jobs is refused.
max_jobs 1 refuses
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< {"payload":{"body":{"phase":"running"}}}
a> job.submit #2 {"agent":"echo"}
a< job.error {"id":"2","payload":{"code":"INTERNAL_ERROR","retryable":true,
    "details":{"limit":"max_jobs"}}}
