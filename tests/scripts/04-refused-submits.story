# docs/protocol.md, Errors: a refused submit is job.error with request_id and a job id never registered.
# [arcp:7.1-1] [arcp:7.5-2] [arcp:7.5-6] [arcp:7.5-8] [arcp:9.5-2] [arcp:9.5-3] [arcp:9.6-1]
# [arcp:LA-3] [arcp:LB-6] [arcp:LB-7]
hello a alice
a> job.submit #1 {"agent":"nobody"}
a< job.error {"id":"1","event_seq":1,"job_id":"$ghost",
    "payload":{"code":"AGENT_NOT_AVAILABLE","retryable":false,"final_status":"error",
    "request_id":"1","reply_to":"1"}}
a> job.cancel #2 {"job_id":"$ghost"}
a< job.error {"event_seq":2,"payload":{"code":"JOB_NOT_FOUND","details":{"job_id":"$ghost"}}}
a> job.submit #3 {"agent":"work@9"}
a< job.error {"payload":{"code":"AGENT_VERSION_NOT_AVAILABLE"}}
a> job.submit #4 {"agent":"A B"}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.submit #5
a< job.error {"payload":{"code":"INVALID_REQUEST",
    "message":"payload.agent is missing, must be a non-empty string"}}
a> job.submit #6 {"agent":"echo","max_runtime_sec":0}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.submit #7 {"agent":"echo","lease_request":{"fs.read":"x"}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.submit #8 {"agent":"echo","lease_request":{"made.up":["x"]}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.submit #9 {"agent":"echo","lease_request":{"cost.budget":["USD:-1"]}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.submit #10 {"agent":"echo","lease_constraints":{"expires_at":"2020-01-01T00:00:00Z"}}
a< job.error {"payload":{"code":"INVALID_REQUEST",
    "message":"lease_constraints.expires_at is not in the future"}}
a> job.submit #11 {"agent":"echo","lease_constraints":{"expires_at":"2030-01-01T00:00:00+00:00"}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
# The session goes on.
a> job.submit #12 {"agent":"work"}
a< job.accepted {"payload":{"agent":"work@1.0.0"}}
