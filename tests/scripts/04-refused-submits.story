# docs/protocol.md, Errors: a refused submit is job.error with request_id and a job id never registered.
# [arcp:7.1-1] [arcp:7.5-2] [arcp:7.5-6] [arcp:7.5-8] [arcp:9.5-2] [arcp:9.5-3] [arcp:9.6-1]
# [arcp:LA-3] [arcp:LB-6] [arcp:LB-7]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"nobody"}}
a< {"type":"job.error","id":"1","event_seq":1,"job_id":"$ghost","payload":{"code":"AGENT_NOT_AVAILABLE","retryable":false,"final_status":"error","request_id":"1","reply_to":"1"}}
a> {"arcp":"1.1","id":"2","type":"job.cancel","payload":{"job_id":"$ghost"}}
a< {"type":"job.error","event_seq":2,"payload":{"code":"JOB_NOT_FOUND","details":{"job_id":"$ghost"}}}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"work@9"}}
a< {"type":"job.error","payload":{"code":"AGENT_VERSION_NOT_AVAILABLE"}}
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"A B"}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"5","type":"job.submit","payload":{}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST","message":"payload.agent is missing, must be a non-empty string"}}
a> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"echo","max_runtime_sec":0}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"7","type":"job.submit","payload":{"agent":"echo","lease_request":{"fs.read":"x"}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"8","type":"job.submit","payload":{"agent":"echo","lease_request":{"made.up":["x"]}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"9","type":"job.submit","payload":{"agent":"echo","lease_request":{"cost.budget":["USD:-1"]}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"10","type":"job.submit","payload":{"agent":"echo","lease_constraints":{"expires_at":"2020-01-01T00:00:00Z"}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST","message":"lease_constraints.expires_at is not in the future"}}
a> {"arcp":"1.1","id":"11","type":"job.submit","payload":{"agent":"echo","lease_constraints":{"expires_at":"2030-01-01T00:00:00+00:00"}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
# The session goes on.
a> {"arcp":"1.1","id":"12","type":"job.submit","payload":{"agent":"work"}}
a< {"type":"job.accepted","payload":{"agent":"work@1.0.0"}}
