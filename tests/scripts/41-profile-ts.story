# docs/protocol.md, Peer profiles, `ts`: refusals of subscribe and list as session.error, without
# closing and without a number, while no job of the session is live; those of submit as in the
# draft; no job.accepted for children. It has no name of its own: by configuration.
profile my-ts-* * ts
hello(a, alice, my-ts-tool)
a> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"job_nothing"}}
a< {"type":"session.error","id":"1","session_id":"$s_a","event_seq":"$absent","job_id":"$absent","payload":{"code":"JOB_NOT_FOUND","retryable":false,"request_id":"1","reply_to":"1","details":{"job_id":"job_nothing"}}}
a> {"arcp":"1.1","id":"2","type":"session.list_jobs","payload":{"cursor":"zzz"}}
a< {"type":"session.error","id":"2","event_seq":"$absent","payload":{"code":"INVALID_REQUEST","request_id":"2"}}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"nobody"}}
a< {"type":"job.error","id":"3","job_id":"$_","event_seq":1,"payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"3"}}
a> {"arcp":"1.1","id":"4","type":"job.cancel","payload":{"job_id":"job_nothing"}}
a< {"type":"job.error","id":"4","event_seq":2,"payload":{"code":"JOB_NOT_FOUND"}}
# The session goes on, and the same request again gets the same refusal.
a> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"job_nothing"}}
a< {"type":"session.error","id":"1","payload":{"code":"JOB_NOT_FOUND"}}
a> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo","lease_request":{"cost.budget":["USD:5"],"agent.delegate":["*"]}}}
a< {"type":"job.accepted","job_id":"$j","payload":{"lease":{"cost.budget":["USD:5"]},"budget":{"USD":5}}}
a< {"type":"job.event","event_seq":3}
# Its client takes any job.accepted for the answer to its oldest submit.
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< {"type":"job.event","event_seq":4,"job_id":"$j","payload":{"kind":"delegate","body":{"child_job_id":"$child"}}}
a< {"type":"job.event","event_seq":5,"job_id":"$child"}
agent $child> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result","event_seq":6}
# Its client would give up the job at a session.error.
a> {"arcp":"1.1","id":"6","type":"job.subscribe","payload":{"job_id":"job_nothing"}}
a< {"type":"job.error","id":"6","job_id":"$absent","event_seq":7,"payload":{"code":"JOB_NOT_FOUND","request_id":"6"}}
a> {"arcp":"1.1","id":"7","type":"session.list_jobs","payload":{"cursor":"zzz"}}
a< {"type":"job.error","id":"7","event_seq":8,"payload":{"code":"INVALID_REQUEST","request_id":"7"}}
agent $j> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result","event_seq":9,"payload":{"result":1,"output":"$absent"}}
a> {"arcp":"1.1","id":"8","type":"job.subscribe","payload":{"job_id":"job_nothing"}}
a< {"type":"session.error","id":"8","event_seq":"$absent","payload":{"code":"JOB_NOT_FOUND"}}
# A repeated submit is answered with the end of its job too: its client waits for it again.
a> {"arcp":"1.1","id":"9","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k"}}
a< {"type":"job.accepted","id":"9","job_id":"$k"}
a< {"type":"job.event","event_seq":10}
agent $k> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result","event_seq":11,"job_id":"$k"}
a> {"arcp":"1.1","id":"10","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k"}}
a< {"type":"job.accepted","id":"10","job_id":"$k"}
a< {"type":"job.result","event_seq":12,"job_id":"$k","payload":{"result":1}}
