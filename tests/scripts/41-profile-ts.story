# docs/protocol.md, Peer profiles, `ts`: refusals of subscribe and list as session.error, without
# closing and without a number; those of submit as in the draft. It has no name of its own:
# by configuration.
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
a> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo","lease_request":{"cost.budget":["USD:5"]}}}
a< {"type":"job.accepted","job_id":"$j","payload":{"lease":{"cost.budget":["USD:5"]},"budget":{"USD":5}}}
a< {"type":"job.event","event_seq":3}
agent $j> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result","event_seq":4,"payload":{"result":1,"output":"$absent"}}
