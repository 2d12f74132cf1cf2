# Limits: past the token bucket of refusals every request is still answered, but later.
setting limits.refusals_per_sec 1
setting limits.refusal_burst 2
hello(a, alice)
hello(b, bob)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"nobody"}}
a< {"type":"job.error","id":"1","payload":{"code":"AGENT_NOT_AVAILABLE"}}
a> {"arcp":"1.1","id":"2","type":"job.cancel","payload":{"job_id":"nothing"}}
a< {"type":"job.error","id":"2","payload":{"code":"JOB_NOT_FOUND"}}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"nobody"}}
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo"}}
a< nothing
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"nobody"}}
b< {"type":"job.error","id":"1","payload":{"code":"AGENT_NOT_AVAILABLE"}}
clock +999ms
a< nothing
clock +1ms
a< {"type":"job.error","id":"3","payload":{"code":"AGENT_NOT_AVAILABLE"}}
a< nothing
clock +1s
a< {"type":"job.accepted","job_id":"$j1"}
