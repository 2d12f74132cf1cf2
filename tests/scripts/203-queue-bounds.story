# The bounds of the queue; `queue: false` refuses; a refused submit leaves nothing behind.
# One shard: with several, jobs of other shards may come first.
setting jobs.queue_max 3
setting jobs.queue_per_principal 2
setting jobs.queue_bytes 20
max_jobs 1
hello a alice
hello b bob
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< {"payload":{"body":{"phase":"running"}}}
a> job.submit #2 {"agent":"echo","input":"123456789 123456789"}
a< job.error {"id":"2","payload":{"code":"INTERNAL_ERROR","retryable":true,
    "details":{"limit":"jobs.queue_bytes"}}}
a> job.submit #3 {"agent":"echo","input":"123456789 1234"}
a< job.accepted {"job_id":"$j3"}
a< {"payload":{"body":{"phase":"queued"}}}
a> job.submit #4 {"agent":"echo"}
a< job.accepted {"job_id":"$j4"}
a< {"payload":{"body":{"phase":"queued"}}}
a> job.submit #5 {"agent":"echo","idempotency_key":"k"}
a< job.error {"id":"5","payload":{"code":"INTERNAL_ERROR","retryable":true,
    "details":{"limit":"jobs.queue_per_principal"}}}
b> job.submit #1 {"agent":"echo"}
b< job.accepted
b< {"payload":{"body":{"phase":"queued"}}}
b> job.submit #2 {"agent":"echo"}
b< job.error {"id":"2","payload":{"code":"INTERNAL_ERROR","retryable":true,
    "details":{"limit":"jobs.queue_max"}}}
# A job that need not wait is not refused.
b> job.submit #3 {"agent":"work@1.0.0"}
b< job.accepted
b< {"payload":{"body":{"phase":"running"}}}
a> job.cancel #6 {"job_id":"$j4"}
a< job.cancelled
a< job.error {"job_id":"$j4"}
a> job.submit #7 {"agent":"echo","idempotency_key":"k"}
a< job.accepted {"id":"7"}
a< {"payload":{"body":{"phase":"queued"}}}
