# docs/protocol.md, Peer profiles, `java`, known by its SDK's name: request errors as job.error without
# a job_id, with the request's id, but a refused subscribe with the job's; no job.accepted for children.
# One shard: with several, a job of another principal is JOB_NOT_FOUND.
hello_as a alice arcp-client-java
a> job.submit #1 {"agent":"nobody"}
a< job.error {"id":"1","job_id":"$absent","event_seq":1,
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"1","job_id":"$absent"}}
a> job.subscribe #2 {"job_id":"job_nothing"}
a< job.error {"id":"2","job_id":"job_nothing","event_seq":2,
    "payload":{"code":"JOB_NOT_FOUND","request_id":"2","job_id":"$absent"}}
a> job.submit #3 {"agent":"echo","lease_request":{"agent.delegate":["*"]}}
a< job.accepted {"id":"3","job_id":"$j","payload":{"lease":{"agent.delegate":["*"]}}}
a< job.event {"event_seq":3}
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< job.event {"event_seq":4,"job_id":"$j",
    "payload":{"kind":"delegate","body":{"child_job_id":"$child"}}}
a< job.event {"event_seq":5,"job_id":"$child"}
# The error of a failed job keeps its job id.
agent $child> {"type":"job.error","payload":{"code":"TIMEOUT","message":"no"}}
a< job.error {"event_seq":6,"job_id":"$child","payload":{"code":"TIMEOUT"}}
# Also for a job of another principal and without the feature; a refused cancel has no job id.
hello b bob
b> job.submit #1 {"agent":"echo"}
b< job.accepted {"job_id":"$bobs"}
a> job.subscribe #4 {"job_id":"$bobs"}
a< job.error {"id":"4","job_id":"$bobs","payload":{"code":"PERMISSION_DENIED","request_id":"4"}}
a> job.cancel #5 {"job_id":"$bobs"}
a< job.error {"id":"5","job_id":"$absent","payload":{"request_id":"5"}}
# A repeated submit also gets the end of its job again, because its client waits for it again.
a> job.submit #k1 {"agent":"echo","idempotency_key":"k"}
a< job.accepted {"id":"k1","job_id":"$k"}
a< job.event {"job_id":"$k"}
agent $k> {"type":"job.result","payload":{"result":1}}
a< job.result {"job_id":"$k"}
a> job.submit #k2 {"agent":"echo","idempotency_key":"k"}
a< job.accepted {"id":"k2","job_id":"$k"}
a< job.result {"job_id":"$k","payload":{"result":1}}
# It has no session.error: before the welcome it gets a job.error without a job.
n> session.hello #h {"client":{"name":"arcp-client-java","version":"1"},
    "auth":{"scheme":"bearer","token":"wrong"}}
n< job.error {"session_id":"$_","job_id":"$absent","event_seq":"$absent",
    "payload":{"code":"UNAUTHENTICATED","message":"$_","retryable":false,"final_status":"error"}}
n< close 1008
r> session.hello #h {"client":{"name":"arcp-client-java","version":"1"},
    "auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"sess_x","resume_token":"rt_x","last_event_seq":0}}
r< job.error {"job_id":"$absent","payload":{"code":"RESUME_WINDOW_EXPIRED","final_status":"error"}}
r< close 1008
h> session.hello #h {"client":{"name":"arcp-client-java","version":"1"},"auth":{"scheme":"basic"}}
h< job.error {"payload":{"code":"UNAUTHENTICATED"}}
h< close 1008
# Other clients do not.
d> session.hello #h {"client":{"name":"arcp-client-javascript","version":"1"},
    "auth":{"scheme":"bearer","token":"wrong"}}
d< session.error {"payload":{"code":"UNAUTHENTICATED","final_status":"$absent"}}
# Nor does it after the welcome.
a> {"arcp":"1.1","id":"6"}
a< session.error {"payload":{"code":"INVALID_REQUEST"}}
a< close 1008
