# docs/protocol.md: a key is kept for its lifetime, longer than its job; the number of keys of a principal is limited.
setting jobs.keep_terminal_max 1
setting jobs.idempotency_max 4
setting jobs.idempotency_ttl_sec 3600
hello a alice
a> job.submit #1 {"agent":"echo","idempotency_key":"one"}
a< job.accepted {"job_id":"$first"}
a< {"event_seq":1}
agent $first> {"type":"job.result","payload":{}}
agent $first exits 0
a< job.result {"event_seq":2}
clock +1s
a> job.submit #2 {"agent":"echo","idempotency_key":"two"}
a< job.accepted {"job_id":"$second"}
a< {"event_seq":3}
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
a< job.result {"event_seq":4}
# The first job is removed now; its key is kept.
a> job.submit #3 {"agent":"echo","idempotency_key":"one"}
a< job.accepted {"job_id":"$first"}
a< job.error {"event_seq":5,"job_id":"$first"}
# Two keys are used and two are free: this principal gets no more until its first one expires.
a> job.submit #4 {"agent":"echo","idempotency_key":"three"}
a< job.error {"event_seq":6,"payload":{"request_id":"4","code":"INTERNAL_ERROR","retryable":true,
    "details":{"limit":"jobs.idempotency_max","retry_after_ms":3599000}}}
# Submits without a key, or with a known key, are accepted.
a> job.submit #5 {"agent":"echo","idempotency_key":"two"}
a< job.accepted {"job_id":"$second"}
a> job.submit #6 {"agent":"echo"}
a< job.accepted {"job_id":"$third"}
a< {"event_seq":7}
agent $third> {"type":"job.result","payload":{}}
agent $third exits 0
a< job.result {"event_seq":8}
# Another principal can still use keys; the keys of the first one are kept, also after a restart.
hello b bob
b> job.submit #1 {"agent":"echo","idempotency_key":"three"}
b< job.accepted {"job_id":"$bobs"}
b< {"event_seq":1}
b> job.submit #2 {"agent":"echo","idempotency_key":"four"}
b< job.error {"payload":{"request_id":"2","details":{"limit":"jobs.idempotency_max"}}}
agent $bobs> {"type":"job.result","payload":{}}
agent $bobs exits 0
b< job.result
clock +1s
restart
hello c alice
c> job.submit #1 {"agent":"echo","idempotency_key":"two"}
c< job.accepted {"job_id":"$second"}
c< job.error {"job_id":"$second"}
c> job.submit #2 {"agent":"echo","idempotency_key":"three"}
c< job.error {"payload":{"request_id":"2",
    "details":{"limit":"jobs.idempotency_max","retry_after_ms":3597000}}}
clock +3596999ms
hello d alice
d> job.submit #3 {"agent":"echo","idempotency_key":"three"}
d< job.error {"payload":{"request_id":"3",
    "details":{"limit":"jobs.idempotency_max","retry_after_ms":1}}}
clock +1ms
d> job.submit #4 {"agent":"echo","idempotency_key":"three"}
d< job.accepted {"job_id":"$fourth"}
