# §7.1 max_runtime_sec: TIMEOUT at the deadline, whatever the agent does; 64-bit timers.
# [arcp:EG-2]
hello a alice
a> job.submit #1 {"agent":"echo","max_runtime_sec":5}
a< job.accepted {"job_id":"$job"}
a< job.event
clock +4s
a< nothing
clock +1s
a< job.error {"payload":{"code":"TIMEOUT","final_status":"timed_out","retryable":true}}
agent $job killed
a> job.submit #2 {"agent":"echo","max_runtime_sec":1000000000000000000}
a< job.accepted {"job_id":"$long"}
a< job.event
clock +10s
a< nothing
agent $long> {"type":"job.result","payload":{}}
a< job.result {"payload":{"result":null}}
