# §7.6: same principal by default; what may not be seen is PERMISSION_DENIED; each decision
# is written to the audit log.
# [arcp:7.6-10] [arcp:7.6-11] [arcp:7.6-12] [arcp:14-1] [arcp:14-21]
# One shard: with several, a job of another principal is JOB_NOT_FOUND.
hello a alice
hello b bob
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
audit< {"event":"submit","principal":"alice","job_id":"$j"}
b> job.subscribe #1 {"job_id":"$j","history":true}
b< job.error {"id":"1","job_id":"$absent",
    "payload":{"code":"PERMISSION_DENIED","message":"the job belongs to another principal",
    "retryable":false,"details":{"job_id":"$j"}}}
audit< {"event":"subscribe","principal":"bob","job_id":"$j","owner":"alice","decision":"denied",
    "rule":"authorization.subscribe: same_principal"}
agent $j> nobody else hears this
a< {"event_seq":2}
b< nothing
b> session.list_jobs #2
b< session.jobs {"payload":{"jobs":[]}}
b> job.cancel #3 {"job_id":"$j"}
b< job.error {"payload":{"code":"JOB_NOT_FOUND"}}
b> job.unsubscribe #4 {"job_id":"$j"}
b< job.error {"payload":{"code":"JOB_NOT_FOUND"}}
# Another session of the same principal may.
hello c alice
c> job.subscribe #1 {"job_id":"$j","history":true}
c< job.subscribed {"id":"1","job_id":"$j","event_seq":"$absent",
    "payload":{"request_id":"1","reply_to":"1"}}
c< {"event_seq":1}
c< {"event_seq":2}
audit< {"event":"subscribe","principal":"alice","job_id":"$j","owner":"alice","decision":"allowed"}
# After a refused subscription a resume replays only what was sent before.
agent $j> three
c< {"event_seq":3}
a< {"event_seq":3}
