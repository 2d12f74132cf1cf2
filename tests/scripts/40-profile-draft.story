# docs/protocol.md, Peer profiles, `draft`: what every other row differs from.
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","lease_request":{"cost.budget":["USD:5"],"agent.delegate":["*"]}}}
a< {"type":"job.accepted","job_id":"$j","payload":{"lease":{"cost.budget":["USD:5"],"agent.delegate":["*"]},"budget":{"USD":5}}}
a< {"type":"job.event","event_seq":1}
# A child is announced to its parent's session.
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< {"type":"job.accepted","id":"$_","payload":{"parent_job_id":"$j","job_id":"$child"}}
a< {"type":"job.event","job_id":"$j","payload":{"kind":"delegate","body":{"child_job_id":"$child"}}}
a< {"type":"job.event","job_id":"$child","payload":{"kind":"status"}}
# Request errors are job.error with an event_seq; a refused submit has a job_id of its own.
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"nobody"}}
a< {"type":"job.error","id":"2","job_id":"$fresh","event_seq":"$_","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2","reply_to":"2","final_status":"error"}}
a> {"arcp":"1.1","id":"3","type":"job.subscribe","payload":{"job_id":"$fresh"}}
a< {"type":"job.error","id":"3","job_id":"$absent","event_seq":"$_","payload":{"code":"JOB_NOT_FOUND","request_id":"3","details":{"job_id":"$fresh"}}}
a> {"arcp":"1.1","id":"4","type":"session.list_jobs","payload":{"limit":0}}
a< {"type":"job.error","id":"4","job_id":"$absent","payload":{"code":"INVALID_REQUEST","request_id":"4"}}
agent $child> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result","job_id":"$child"}
agent $j> {"type":"job.result","payload":{"result":{"n":1}}}
a< {"type":"job.result","job_id":"$j","payload":{"result":{"n":1},"output":"$absent"}}
