# The ends of queued jobs: a cancel at once, max_runtime_sec and the lease's expiry from the
# acceptance on, jobs.queue_sec. The next one moves up.
setting session.heartbeat_interval_sec 3600
setting jobs.queue_sec 100
setting lease.on_expiry deny
max_jobs 1
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$run"}
a< {"payload":{"body":{"phase":"running"}}}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$cancelled"}
a< {"payload":{"body":{"phase":"queued"}}}
a> job.submit #3 {"agent":"echo","max_runtime_sec":10}
a< job.accepted {"job_id":"$slow"}
a< {"payload":{"body":{"phase":"queued"}}}
a> job.submit #4 {"agent":"echo","lease_constraints":{"expires_at":"$in_20s"}}
a< job.accepted {"job_id":"$expiring"}
a< {"payload":{"body":{"phase":"queued"}}}
a> job.submit #5 {"agent":"echo"}
a< job.accepted {"job_id":"$late"}
a< {"payload":{"body":{"phase":"queued","message":"place 4 in the queue of the agent"}}}
a> job.cancel #6 {"job_id":"$cancelled"}
a< job.cancelled
a< job.error {"job_id":"$cancelled","payload":{"code":"CANCELLED","final_status":"cancelled"}}
clock +10s
a< job.error {"job_id":"$slow","payload":{"code":"TIMEOUT","final_status":"timed_out"}}
clock +10s
a< job.error {"job_id":"$expiring","payload":{"code":"LEASE_EXPIRED","final_status":"error"}}
clock +79s
a< nothing
clock +1s
a< job.error {"job_id":"$late","payload":{"code":"TIMEOUT","details":{"limit":"jobs.queue_sec"}}}
# After a restart the times still count from the acceptance.
a> job.submit #7 {"agent":"echo","max_runtime_sec":50}
a< job.accepted {"job_id":"$j7"}
a< {"payload":{"body":{"phase":"queued"}}}
a> job.submit #8 {"agent":"echo"}
a< job.accepted {"job_id":"$j8"}
a< {"payload":{"body":{"phase":"queued"}}}
a> job.submit #9 {"agent":"echo"}
a< job.accepted {"job_id":"$j9"}
a< {"payload":{"body":{"phase":"queued"}}}
clock +40s
agents -echo
a< job.error {"job_id":"$j7","payload":{"code":"AGENT_NOT_AVAILABLE"}}
a< job.error {"job_id":"$j8","payload":{"code":"AGENT_NOT_AVAILABLE"}}
a< job.error {"job_id":"$j9","payload":{"code":"AGENT_NOT_AVAILABLE"}}
agents +echo
a> job.submit #10 {"agent":"echo","max_runtime_sec":50}
a< job.accepted {"job_id":"$j10"}
a< {"payload":{"body":{"phase":"queued"}}}
a> job.submit #11 {"agent":"echo"}
a< job.accepted {"job_id":"$j11"}
a< {"payload":{"body":{"phase":"queued"}}}
a> job.submit #12 {"agent":"echo","max_runtime_sec":51}
a< job.accepted {"job_id":"$j12"}
a< {"payload":{"body":{"phase":"queued"}}}
clock +40s
restart
hello b alice
b> job.subscribe #1 {"job_id":"$j10"}
b< job.subscribed {"payload":{"current_status":"running"}}
b> job.subscribe #2 {"job_id":"$j12"}
b< job.subscribed {"payload":{"current_status":"pending"}}
clock +9s
b< job.error {"job_id":"$j10","payload":{"code":"TIMEOUT"}}
clock +1s
b< job.error {"job_id":"$j12","payload":{"code":"TIMEOUT"}}
b< nothing
