# docs/protocol.md, Peer profiles, `java`, known by its SDK's name: request errors as job.error without
# a job_id, with the request's id; no job.accepted for children.
hello(a, alice, arcp-client-java)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"nobody"}}
a< {"type":"job.error","id":"1","job_id":"$absent","event_seq":1,"payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"1","job_id":"$absent"}}
a> {"arcp":"1.1","id":"2","type":"job.subscribe","payload":{"job_id":"job_nothing"}}
a< {"type":"job.error","id":"2","job_id":"$absent","event_seq":2,"payload":{"code":"JOB_NOT_FOUND","request_id":"2"}}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","lease_request":{"agent.delegate":["*"]}}}
a< {"type":"job.accepted","id":"3","job_id":"$j","payload":{"lease":{"agent.delegate":["*"]}}}
a< {"type":"job.event","event_seq":3}
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< {"type":"job.event","event_seq":4,"job_id":"$j","payload":{"kind":"delegate","body":{"child_job_id":"$child"}}}
a< {"type":"job.event","event_seq":5,"job_id":"$child"}
# A job that fails keeps its id.
agent $child> {"type":"job.error","payload":{"code":"TIMEOUT","message":"no"}}
a< {"type":"job.error","event_seq":6,"job_id":"$child","payload":{"code":"TIMEOUT"}}
