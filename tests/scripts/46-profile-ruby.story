# docs/protocol.md, Peer profiles, `ruby`, known by its SDK's name (in the older flat member): no lease
# in job.accepted (what asks for the lease elsewhere gets it); refusals have a job_id in the payload.
a> session.hello #h {"client_name":"arcp-ruby","client_version":"1",
    "auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["list_jobs","subscribe","cost.budget"]}}
a< session.welcome
a> job.submit #1 {"agent":"echo","idempotency_key":"k",
    "lease_request":{"tool.call":["web.*"],"agent.delegate":["*"]}}
a< job.accepted {"id":"1","job_id":"$j","payload":{"job_id":"$j","lease":"$absent","agent":"echo"}}
a< job.event {"event_seq":1}
a> job.submit #2 {"agent":"echo","idempotency_key":"k",
    "lease_request":{"tool.call":["web.*"],"agent.delegate":["*"]}}
a< job.accepted {"id":"2","job_id":"$j","payload":{"lease":"$absent"}}
a> session.list_jobs #3
a< session.jobs {"payload":{"jobs":[{"job_id":"$j",
    "lease":{"tool.call":["web.*"],"agent.delegate":["*"]}}]}}
a> job.submit #4 {"agent":"nobody"}
a< job.error {"id":"4","job_id":"$refused","event_seq":2,
    "payload":{"code":"AGENT_NOT_AVAILABLE","job_id":"$refused"}}
a> job.cancel #5 {"job_id":"job_nothing"}
a< job.error {"id":"5","job_id":"$absent","event_seq":3,
    "payload":{"code":"JOB_NOT_FOUND","job_id":"job_nothing","details":{"job_id":"job_nothing"}}}
a> session.list_jobs #6 {"limit":0}
a< job.error {"id":"6","job_id":"$absent","event_seq":4,
    "payload":{"code":"INVALID_REQUEST","job_id":"$_"}}
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< job.accepted {"payload":{"parent_job_id":"$j","lease":"$absent"}}
a< job.event {"event_seq":5,"payload":{"kind":"delegate"}}
a< job.event {"event_seq":6}
