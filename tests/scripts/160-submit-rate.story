# Limits: submits of a principal have a token bucket; a refusal says when to try again.
setting limits.submits_per_sec 1
setting limits.submit_burst 2
hello a alice
hello b alice
hello c bob
a> job.submit #1 {"agent":"echo","idempotency_key":"k"}
a< job.accepted {"job_id":"$j1"}
a< {"event_seq":1}
# An invalid submit takes a token, too, and so does one of another session.
b> job.submit #1 {"agent":"nobody"}
b< job.error {"payload":{"code":"AGENT_NOT_AVAILABLE"}}
b> job.submit #2 {"agent":"echo"}
b< job.error {"id":"2","payload":{"code":"INTERNAL_ERROR","retryable":true,
    "details":{"limit":"limits.submits_per_sec","retry_after_ms":1000}}}
# A repeated submit gets its job.
a> job.submit #3 {"agent":"echo","idempotency_key":"k"}
a< job.accepted {"job_id":"$j1"}
# Another principal has its own.
c> job.submit #1 {"agent":"echo"}
c< job.accepted {"job_id":"$j2"}
clock +999ms
b> job.submit #4 {"agent":"echo"}
b< job.error {"id":"4","payload":{"code":"INTERNAL_ERROR",
    "details":{"limit":"limits.submits_per_sec","retry_after_ms":1}}}
clock +1ms
b> job.submit #5 {"agent":"echo"}
b< job.accepted {"job_id":"$j3"}
