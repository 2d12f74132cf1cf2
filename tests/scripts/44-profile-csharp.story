# docs/protocol.md, Peer profiles, `csharp`: request errors as session.error; no job.accepted for
# children. It has no name of its own: by configuration.
profile dotnet-* * csharp
hello(a, alice, dotnet-worker)
a> {"arcp":"1.1","id":"1","type":"session.list_jobs","payload":{"limit":0}}
a< {"type":"session.error","id":"1","event_seq":"$absent","payload":{"code":"INVALID_REQUEST","request_id":"1"}}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"nobody"}}
a< {"type":"session.error","id":"2","event_seq":"$absent","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2"}}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","lease_request":{"cost.budget":["USD:5"],"agent.delegate":["*"]}}}
a< {"type":"job.accepted","job_id":"$j","payload":{"lease":{"cost.budget":["USD:5"],"agent.delegate":["*"]},"budget":{"USD":5}}}
a< {"type":"job.event","event_seq":1}
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< {"type":"job.event","event_seq":2,"job_id":"$j","payload":{"kind":"delegate","body":{"child_job_id":"$child"}}}
a< {"type":"job.event","event_seq":3,"job_id":"$child"}
agent $child> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result","event_seq":4,"payload":{"result":1,"output":"$absent"}}
# The form survives a restart, although the rule is known only after the sessions are.
restart
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"client":{"name":"dotnet-worker","version":"1"},"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":4}}}
a< {"type":"session.welcome","session_id":"$s_a"}
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"nobody"}}
a< {"type":"job.error","event_seq":5,"job_id":"$j","payload":{"code":"INTERNAL_ERROR"}}
a< {"type":"session.error","id":"4","event_seq":"$absent","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"4"}}
