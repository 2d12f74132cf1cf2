# §7.4: job.cancelled at once, job.error CANCELLED when the agent has ended; grace; who may.
# [arcp:7.4-1] [arcp:7.4-2] [arcp:7.4-3] [arcp:7.6-14]
hello a alice
hello b alice
hello c carol
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$job"}
a< job.event {"event_seq":1}
b> job.cancel #1 {"job_id":"$job"}
b< job.error {"payload":{"code":"PERMISSION_DENIED","details":{"job_id":"$job"}}}
c> job.cancel #1 {"job_id":"$job"}
c< job.error {"payload":{"code":"JOB_NOT_FOUND"}}
a> job.cancel #2
a< job.error {"event_seq":2,"payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"3","type":"job.cancel","job_id":"job_other","payload":{"job_id":"$job"}}
a< job.error {"event_seq":3,"payload":{"code":"INVALID_REQUEST"}}
a> job.cancel #4 {"job_id":"$job","reason":"enough"}
a< job.cancelled {"id":"4","event_seq":"$absent","job_id":"$job",
    "payload":{"job_id":"$job","reason":"enough","request_id":"4"}}
agent $job< {"type":"job.start"}
agent $job< {"type":"job.cancel","payload":{"reason":"client","grace_ms":30000}}
# A second cancel during the grace period is acknowledged again.
a> {"arcp":"1.1","id":"5","type":"job.cancel","job_id":"$job","payload":{}}
a< job.cancelled {"id":"5"}
# Events during the grace period are still recorded.
agent $job> bye
a< job.event {"event_seq":4,"payload":{"kind":"log"}}
agent $job exits 0
a< job.error {"event_seq":5,"payload":{"code":"CANCELLED","final_status":"cancelled",
    "retryable":false}}
a> job.cancel #6 {"job_id":"$job"}
a< job.error {"payload":{"code":"JOB_NOT_FOUND"}}
# An agent that ignores the cancellation is killed after the grace period.
a> job.submit #7 {"agent":"echo"}
a< job.accepted {"job_id":"$deaf"}
a< job.event
a> job.cancel #8 {"job_id":"$deaf"}
a< job.cancelled
clock +29s
clock +1s
a< session.ping
a< job.error {"job_id":"$deaf","payload":{"code":"CANCELLED"}}
agent $deaf killed
