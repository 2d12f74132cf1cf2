# docs/protocol.md, Peer profiles, `csharp`: request errors as session.error; no job.accepted for
# children. It has no name of its own: by configuration.
profile dotnet-* * csharp
hello_as a alice dotnet-worker
a> session.list_jobs #1 {"limit":0}
a< session.error {"id":"1","event_seq":"$absent",
    "payload":{"code":"INVALID_REQUEST","request_id":"1"}}
a> job.submit #2 {"agent":"nobody"}
a< session.error {"id":"2","event_seq":"$absent",
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2"}}
a> job.submit #3 {"agent":"echo","lease_request":{"cost.budget":["USD:5"],"agent.delegate":["*"]}}
a< job.accepted {"job_id":"$j","payload":{"lease":{"cost.budget":["USD:5"],"agent.delegate":["*"]},
    "budget":{"USD":5}}}
a< job.event {"event_seq":1}
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< job.event {"event_seq":2,"job_id":"$j",
    "payload":{"kind":"delegate","body":{"child_job_id":"$child"}}}
a< job.event {"event_seq":3,"job_id":"$child"}
agent $child> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":4,"payload":{"result":1,"output":"$absent"}}
# The form survives a restart, although the rule is known only after the sessions are.
restart
a> session.hello #r {"client":{"name":"dotnet-worker","version":"1"},
    "auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":4}}
a< session.welcome {"session_id":"$session_a"}
a> job.submit #4 {"agent":"nobody"}
a< job.error {"event_seq":5,"job_id":"$j","payload":{"code":"INTERNAL_ERROR"}}
a< session.error {"id":"4","event_seq":"$absent",
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"4"}}
