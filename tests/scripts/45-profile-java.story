# docs/protocol.md, Peer profiles, `java`, known by its SDK's name: request errors as job.error without
# a job_id, with the request's id, but a refused subscribe with the job's; no job.accepted for children.
hello(a, alice, arcp-client-java)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"nobody"}}
a< {"type":"job.error","id":"1","job_id":"$absent","event_seq":1,"payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"1","job_id":"$absent"}}
a> {"arcp":"1.1","id":"2","type":"job.subscribe","payload":{"job_id":"job_nothing"}}
a< {"type":"job.error","id":"2","job_id":"job_nothing","event_seq":2,"payload":{"code":"JOB_NOT_FOUND","request_id":"2","job_id":"$absent"}}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","lease_request":{"agent.delegate":["*"]}}}
a< {"type":"job.accepted","id":"3","job_id":"$j","payload":{"lease":{"agent.delegate":["*"]}}}
a< {"type":"job.event","event_seq":3}
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< {"type":"job.event","event_seq":4,"job_id":"$j","payload":{"kind":"delegate","body":{"child_job_id":"$child"}}}
a< {"type":"job.event","event_seq":5,"job_id":"$child"}
# A job that fails keeps its id.
agent $child> {"type":"job.error","payload":{"code":"TIMEOUT","message":"no"}}
a< {"type":"job.error","event_seq":6,"job_id":"$child","payload":{"code":"TIMEOUT"}}
# One of another principal too, and one that was not negotiated; a refused cancel has none.
hello(b, bob)
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.accepted","job_id":"$bobs"}
a> {"arcp":"1.1","id":"4","type":"job.subscribe","payload":{"job_id":"$bobs"}}
a< {"type":"job.error","id":"4","job_id":"$bobs","payload":{"code":"PERMISSION_DENIED","request_id":"4"}}
a> {"arcp":"1.1","id":"5","type":"job.cancel","payload":{"job_id":"$bobs"}}
a< {"type":"job.error","id":"5","job_id":"$absent","payload":{"request_id":"5"}}
# A repeated submit is answered with the end of its job too: its client waits for it again.
a> {"arcp":"1.1","id":"k1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k"}}
a< {"type":"job.accepted","id":"k1","job_id":"$k"}
a< {"type":"job.event","job_id":"$k"}
agent $k> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result","job_id":"$k"}
a> {"arcp":"1.1","id":"k2","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k"}}
a< {"type":"job.accepted","id":"k2","job_id":"$k"}
a< {"type":"job.result","job_id":"$k","payload":{"result":1}}
# It knows no session.error: before the welcome it is told by a job.error that has no job.
n> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"client":{"name":"arcp-client-java","version":"1"},"auth":{"scheme":"bearer","token":"wrong"}}}
n< {"type":"job.error","session_id":"$_","job_id":"$absent","event_seq":"$absent","payload":{"code":"UNAUTHENTICATED","message":"$_","retryable":false,"final_status":"error"}}
n< close 1008
r> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"client":{"name":"arcp-client-java","version":"1"},"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"sess_x","resume_token":"rt_x","last_event_seq":0}}}
r< {"type":"job.error","job_id":"$absent","payload":{"code":"RESUME_WINDOW_EXPIRED","final_status":"error"}}
r< close 1008
h> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"client":{"name":"arcp-client-java","version":"1"},"auth":{"scheme":"basic"}}}
h< {"type":"job.error","payload":{"code":"UNAUTHENTICATED"}}
h< close 1008
# Nobody else is.
d> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"client":{"name":"arcp-client-javascript","version":"1"},"auth":{"scheme":"bearer","token":"wrong"}}}
d< {"type":"session.error","payload":{"code":"UNAUTHENTICATED","final_status":"$absent"}}
# Nor is it, in its session.
a> {"arcp":"1.1","id":"6"}
a< {"type":"session.error","payload":{"code":"INVALID_REQUEST"}}
a< close 1008
