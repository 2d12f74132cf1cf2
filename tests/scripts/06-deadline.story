# §7.1 max_runtime_sec: TIMEOUT at the deadline, whatever the agent does; 64-bit timers.
# [arcp:EG-2]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","max_runtime_sec":5}}
a< {"type":"job.accepted","job_id":"$job"}
a< {"type":"job.event"}
clock +4s
a< nothing
clock +1s
a< {"type":"job.error","payload":{"code":"TIMEOUT","final_status":"timed_out","retryable":true}}
agent $job killed
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo","max_runtime_sec":1000000000000000000}}
a< {"type":"job.accepted","job_id":"$long"}
a< {"type":"job.event"}
clock +10s
a< nothing
agent $long> {"type":"job.result","payload":{}}
a< {"type":"job.result","payload":{"result":null}}
