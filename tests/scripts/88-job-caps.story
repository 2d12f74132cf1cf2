# Limits: the number of running jobs of a session and of a principal; an ended job makes room.
setting limits.jobs_per_session 2
setting limits.jobs_per_principal 3
hello a alice
hello b alice
hello c bob
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< {"event_seq":1}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$j2"}
a< {"event_seq":2}
a> job.submit #3 {"agent":"echo"}
a< job.error {"id":"3","event_seq":3,"job_id":"$_",
    "payload":{"code":"INTERNAL_ERROR","retryable":true,
    "details":{"limit":"limits.jobs_per_session"}}}
b> job.submit #1 {"agent":"echo"}
b< job.accepted {"job_id":"$j3"}
b< {"event_seq":1}
b> job.submit #2 {"agent":"echo"}
b< job.error {"id":"2","payload":{"code":"INTERNAL_ERROR","retryable":true,
    "details":{"limit":"limits.jobs_per_principal"}}}
c> job.submit #1 {"agent":"echo"}
c< job.accepted
agent $j1> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":4}
b> job.submit #3 {"agent":"echo"}
b< job.accepted {"id":"3"}
