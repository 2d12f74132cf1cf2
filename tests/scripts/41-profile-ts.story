# docs/protocol.md, Peer profiles, `ts`: refusals of subscribe and list as session.error, without
# closing and without a number, while no job of the session is live; those of submit as in the
# draft; no job.accepted for children. It has no name of its own: by configuration.
profile my-ts-* * ts
hello_as a alice my-ts-tool
a> job.subscribe #1 {"job_id":"job_nothing"}
a< session.error {"id":"1","session_id":"$session_a","event_seq":"$absent","job_id":"$absent",
    "payload":{"code":"JOB_NOT_FOUND","retryable":false,"request_id":"1","reply_to":"1",
    "details":{"job_id":"job_nothing"}}}
a> session.list_jobs #2 {"cursor":"zzz"}
a< session.error {"id":"2","event_seq":"$absent",
    "payload":{"code":"INVALID_REQUEST","request_id":"2"}}
a> job.submit #3 {"agent":"nobody"}
a< job.error {"id":"3","job_id":"$_","event_seq":1,
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"3"}}
a> job.cancel #4 {"job_id":"job_nothing"}
a< job.error {"id":"4","event_seq":2,"payload":{"code":"JOB_NOT_FOUND"}}
# The session goes on, and the same request again gets the same refusal.
a> job.subscribe #1 {"job_id":"job_nothing"}
a< session.error {"id":"1","payload":{"code":"JOB_NOT_FOUND"}}
a> job.submit #5 {"agent":"echo","lease_request":{"cost.budget":["USD:5"],"agent.delegate":["*"]}}
a< job.accepted {"job_id":"$j","payload":{"lease":{"cost.budget":["USD:5"]},"budget":{"USD":5}}}
a< job.event {"event_seq":3}
# Its client takes any job.accepted for the response to its oldest submit.
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< job.event {"event_seq":4,"job_id":"$j",
    "payload":{"kind":"delegate","body":{"child_job_id":"$child"}}}
a< job.event {"event_seq":5,"job_id":"$child"}
agent $child> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":6}
# Its client would give up the job at a session.error.
a> job.subscribe #6 {"job_id":"job_nothing"}
a< job.error {"id":"6","job_id":"$absent","event_seq":7,
    "payload":{"code":"JOB_NOT_FOUND","request_id":"6"}}
a> session.list_jobs #7 {"cursor":"zzz"}
a< job.error {"id":"7","event_seq":8,"payload":{"code":"INVALID_REQUEST","request_id":"7"}}
agent $j> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":9,"payload":{"result":1,"output":"$absent"}}
a> job.subscribe #8 {"job_id":"job_nothing"}
a< session.error {"id":"8","event_seq":"$absent","payload":{"code":"JOB_NOT_FOUND"}}
# A repeated submit also gets the end of its job again, because its client waits for it again.
a> job.submit #9 {"agent":"echo","idempotency_key":"k"}
a< job.accepted {"id":"9","job_id":"$k"}
a< job.event {"event_seq":10}
agent $k> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":11,"job_id":"$k"}
a> job.submit #10 {"agent":"echo","idempotency_key":"k"}
a< job.accepted {"id":"10","job_id":"$k"}
a< job.result {"event_seq":12,"job_id":"$k","payload":{"result":1}}
