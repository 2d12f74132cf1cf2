# docs/protocol.md, Peer profiles, `ruby`, known by its SDK's name (in the older flat member): no lease
# in job.accepted (what asks for the lease elsewhere gets it); refusals have a job_id in the payload.
a> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"client_name":"arcp-ruby","client_version":"1","auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["list_jobs","subscribe","cost.budget"]}}}
a< {"type":"session.welcome"}
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k","lease_request":{"tool.call":["web.*"],"agent.delegate":["*"]}}}
a< {"type":"job.accepted","id":"1","job_id":"$j","payload":{"job_id":"$j","lease":"$absent","agent":"echo"}}
a< {"type":"job.event","event_seq":1}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k","lease_request":{"tool.call":["web.*"],"agent.delegate":["*"]}}}
a< {"type":"job.accepted","id":"2","job_id":"$j","payload":{"lease":"$absent"}}
a> {"arcp":"1.1","id":"3","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$j","lease":{"tool.call":["web.*"],"agent.delegate":["*"]}}]}}
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"nobody"}}
a< {"type":"job.error","id":"4","job_id":"$refused","event_seq":2,"payload":{"code":"AGENT_NOT_AVAILABLE","job_id":"$refused"}}
a> {"arcp":"1.1","id":"5","type":"job.cancel","payload":{"job_id":"job_nothing"}}
a< {"type":"job.error","id":"5","job_id":"$absent","event_seq":3,"payload":{"code":"JOB_NOT_FOUND","job_id":"job_nothing","details":{"job_id":"job_nothing"}}}
a> {"arcp":"1.1","id":"6","type":"session.list_jobs","payload":{"limit":0}}
a< {"type":"job.error","id":"6","job_id":"$absent","event_seq":4,"payload":{"code":"INVALID_REQUEST","job_id":"$_"}}
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< {"type":"job.accepted","payload":{"parent_job_id":"$j","lease":"$absent"}}
a< {"type":"job.event","event_seq":5,"payload":{"kind":"delegate"}}
a< {"type":"job.event","event_seq":6}
