# docs/protocol.md, Peer profiles, `draft`: the profile with which the others are compared.
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"cost.budget":["USD:5"],"agent.delegate":["*"]}}
a< job.accepted {"job_id":"$j","payload":{"lease":{"cost.budget":["USD:5"],"agent.delegate":["*"]},
    "budget":{"USD":5}}}
a< job.event {"event_seq":1}
# A child is announced to its parent's session.
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< job.accepted {"id":"$_","payload":{"parent_job_id":"$j","job_id":"$child"}}
a< job.event {"job_id":"$j","payload":{"kind":"delegate","body":{"child_job_id":"$child"}}}
a< job.event {"job_id":"$child","payload":{"kind":"status"}}
# Request errors are job.error with an event_seq; a refused submit has a new job_id.
a> job.submit #2 {"agent":"nobody"}
a< job.error {"id":"2","job_id":"$fresh","event_seq":"$_",
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2","reply_to":"2","final_status":"error"}}
a> job.subscribe #3 {"job_id":"$fresh"}
a< job.error {"id":"3","job_id":"$absent","event_seq":"$_",
    "payload":{"code":"JOB_NOT_FOUND","request_id":"3","details":{"job_id":"$fresh"}}}
a> session.list_jobs #4 {"limit":0}
a< job.error {"id":"4","job_id":"$absent","payload":{"code":"INVALID_REQUEST","request_id":"4"}}
agent $child> {"type":"job.result","payload":{"result":1}}
a< job.result {"job_id":"$child"}
agent $j> {"type":"job.result","payload":{"result":{"n":1}}}
a< job.result {"job_id":"$j","payload":{"result":{"n":1},"output":"$absent"}}
