# §7.2: the key is looked up before every check that depends on time or registry; the retrying
# session gets the job's history and its end; in the form of its own peer profile.
# [arcp:7.2-1]
profile snake * python
hello a alice
a> job.submit #1 {"agent":"echo","input":{"n":1},"idempotency_key":"K",
    "lease_request":{"cost.budget":["USD:5"]},"lease_constraints":{"expires_at":"$in_2s"}}
a< job.accepted {"job_id":"$j","payload":{"budget":{"USD":5}}}
a< {"event_seq":1}
later +2s
a< job.error {"job_id":"$j","event_seq":2,"payload":{"code":"LEASE_EXPIRED"}}
# The expiry has passed: a new submit would be refused, but this one is a repetition.
hello_as b alice snake
b> job.submit #1 {"agent":"echo","input":{"n":1.0},"idempotency_key":"K",
    "lease_request":{"cost.budget":["USD:5"]},"lease_constraints":{"expires_at":"$in_2s"}}
b< job.accepted {"id":"1","job_id":"$j",
    "payload":{"job_id":"$j","request_id":"1","lease":{"cost.budget":["USD:5"]},
    "lease_constraints":{"expires_at":"$in_2s"},"budget":{"USD":"USD:5"}}}
b< job.event {"event_seq":1,"payload":{"kind":"status"}}
b< job.error {"event_seq":2,"payload":{"code":"LEASE_EXPIRED"}}
# Repeated in a session that already observes the job: only the response.
a> job.submit #2 {"agent":"echo","input":{"n":1},"idempotency_key":"K",
    "lease_request":{"cost.budget":["USD:5"]},"lease_constraints":{"expires_at":"$in_2s"}}
a< job.accepted {"id":"2","job_id":"$j","payload":{"request_id":"2","budget":{"USD":5}}}
a< nothing
# For a client with the profile python, which has forgotten the job: the end again.
b> job.submit #2 {"agent":"echo","input":{"n":1},"idempotency_key":"K",
    "lease_request":{"cost.budget":["USD:5"]},"lease_constraints":{"expires_at":"$in_2s"}}
b< job.accepted {"id":"2","job_id":"$j","payload":{"request_id":"2","budget":{"USD":"USD:5"}}}
b< job.error {"event_seq":3,"payload":{"code":"LEASE_EXPIRED"}}
b< nothing
# It survives a restart, with the job.
restart
hello c alice
c> job.submit #1 {"agent":"echo","input":{"n":1},"idempotency_key":"K",
    "lease_request":{"cost.budget":["USD:5"]},"lease_constraints":{"expires_at":"$in_2s"}}
c< job.accepted {"job_id":"$j","payload":{"budget":{"USD":5}}}
c< job.event {"event_seq":1}
c< job.error {"event_seq":2,"payload":{"code":"LEASE_EXPIRED"}}
c> job.submit #2 {"agent":"echo","input":{"n":2},"idempotency_key":"K"}
c< job.error {"payload":{"code":"DUPLICATE_KEY","details":{"job_id":"$j"}}}
