# §7.2: simultaneous submits with one key are one job, and each submitter may cancel it.
# [arcp:7.2-1]
hello a alice
hello b alice
hello c alice
a> job.submit #1 {"agent":"echo","idempotency_key":"K"}
b> job.submit #1 {"agent":"echo","idempotency_key":"K"}
a> job.submit #2 {"agent":"echo","idempotency_key":"K"}
c> job.submit #1 {"agent":"echo","idempotency_key":"K"}
a< job.accepted {"id":"1","job_id":"$j"}
b< job.accepted {"id":"1","job_id":"$j"}
c< job.accepted {"id":"1","job_id":"$j"}
b< job.event {"event_seq":1,"payload":{"kind":"status","body":{"phase":"running"}}}
c< job.event {"event_seq":1}
c> session.list_jobs #2
c< session.jobs {"payload":{"jobs":[{"job_id":"$j"}]}}
b> job.cancel #2 {"job_id":"$j"}
b< job.cancelled {"job_id":"$j"}
agent $j exits 0
b< job.error {"event_seq":2,"payload":{"code":"CANCELLED"}}
c< job.error {"event_seq":2,"payload":{"code":"CANCELLED"}}
