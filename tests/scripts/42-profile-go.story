# docs/protocol.md, Peer profiles, `go`, known by its SDK's name: request errors as session.error with
# request_id; `output` mirrors `result`; no job.accepted for children.
hello(a, alice, arcp-go-client)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"nobody"}}
a< {"type":"session.error","id":"1","session_id":"$s_a","event_seq":"$absent","job_id":"$absent","payload":{"code":"AGENT_NOT_AVAILABLE","message":"$_","retryable":false,"request_id":"1","reply_to":"1"}}
a> {"arcp":"1.1","id":"2","type":"job.cancel","payload":{"job_id":"job_nothing"}}
a< {"type":"session.error","id":"2","payload":{"code":"JOB_NOT_FOUND","request_id":"2"}}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","lease_request":{"agent.delegate":["*"]}}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"type":"job.event","event_seq":1}
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< {"type":"job.event","event_seq":2,"job_id":"$j","payload":{"kind":"delegate","body":{"child_job_id":"$child"}}}
a< {"type":"job.event","event_seq":3,"job_id":"$child","payload":{"kind":"status"}}
agent $child> {"type":"job.result","payload":{"result":"c"}}
a< {"type":"job.result","event_seq":4,"job_id":"$child","payload":{"result":"c","output":"c"}}
agent $j> {"type":"job.result","payload":{"result":{"n":1.50}}}
a< {"type":"job.result","event_seq":5,"payload":{"result":{"n":1.5},"output":{"n":1.5}}}
# A job's own error is no request error.
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$k"}
a< {"type":"job.event","event_seq":6}
agent $k> {"type":"job.error","payload":{"code":"INTERNAL_ERROR","message":"no"}}
a< {"type":"job.error","event_seq":7,"job_id":"$k","payload":{"output":"$absent"}}
# The form survives a drop and a restart of the runtime.
restart
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"client":{"name":"arcp-go-client","version":"1"},"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":4}}}
a< {"type":"session.welcome","session_id":"$s_a"}
a< {"type":"job.result","event_seq":5,"payload":{"result":{"n":1.5},"output":{"n":1.5}}}
a< {"type":"job.event","event_seq":6}
a< {"type":"job.error","event_seq":7}
a> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"nobody"}}
a< {"type":"session.error","id":"5","payload":{"code":"AGENT_NOT_AVAILABLE"}}
