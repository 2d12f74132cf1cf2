# docs/protocol.md, Peer profiles, `go`, known by its SDK's name: request errors as session.error with
# request_id; `output` mirrors `result`; no job.accepted for children.
hello_as a alice arcp-go-client
a> job.submit #1 {"agent":"nobody"}
a< session.error {"id":"1","session_id":"$session_a","event_seq":"$absent","job_id":"$absent",
    "payload":{"code":"AGENT_NOT_AVAILABLE","message":"$_","retryable":false,"request_id":"1",
    "reply_to":"1"}}
a> job.cancel #2 {"job_id":"job_nothing"}
a< session.error {"id":"2","payload":{"code":"JOB_NOT_FOUND","request_id":"2"}}
a> job.submit #3 {"agent":"echo","lease_request":{"agent.delegate":["*"]}}
a< job.accepted {"job_id":"$j"}
a< job.event {"event_seq":1}
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< job.event {"event_seq":2,"job_id":"$j",
    "payload":{"kind":"delegate","body":{"child_job_id":"$child"}}}
a< job.event {"event_seq":3,"job_id":"$child","payload":{"kind":"status"}}
agent $child> {"type":"job.result","payload":{"result":"c"}}
a< job.result {"event_seq":4,"job_id":"$child","payload":{"result":"c","output":"c"}}
agent $j> {"type":"job.result","payload":{"result":{"n":1.50}}}
a< job.result {"event_seq":5,"payload":{"result":{"n":1.5},"output":{"n":1.5}}}
# The error of a job is not a request error.
a> job.submit #4 {"agent":"echo"}
a< job.accepted {"job_id":"$k"}
a< job.event {"event_seq":6}
agent $k> {"type":"job.error","payload":{"code":"INTERNAL_ERROR","message":"no"}}
a< job.error {"event_seq":7,"job_id":"$k","payload":{"output":"$absent"}}
# The form survives a drop and a restart of the runtime.
restart
a> session.hello #r {"client":{"name":"arcp-go-client","version":"1"},
    "auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":4}}
a< session.welcome {"session_id":"$session_a"}
a< job.result {"event_seq":5,"payload":{"result":{"n":1.5},"output":{"n":1.5}}}
a< job.event {"event_seq":6}
a< job.error {"event_seq":7}
a> job.submit #5 {"agent":"nobody"}
a< session.error {"id":"5","payload":{"code":"AGENT_NOT_AVAILABLE"}}
