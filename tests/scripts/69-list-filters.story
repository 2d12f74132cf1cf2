# §6.6, docs/protocol.md, list_jobs: filters on both sides of their bounds, statuses of every kind.
# [arcp:6.6-2] [arcp:7.3-1]
hello(a, alice)
hello(b, bob)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"work"}}
a< {"type":"job.accepted","job_id":"$j1","payload":{"accepted_at":"$t1"}}
a< {"event_seq":1}
clock +1s
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"work@2.0.0"}}
a< {"type":"job.accepted","job_id":"$j2","payload":{"accepted_at":"$t2"}}
a< {"event_seq":2}
clock +1s
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j3","payload":{"accepted_at":"$t3"}}
a< {"event_seq":3}
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.accepted","job_id":"$theirs"}
# created_after and created_before are exclusive.
a> {"arcp":"1.1","id":"4","type":"session.list_jobs","payload":{"filter":{"created_after":"$t1"}}}
a< {"payload":{"jobs":[{"job_id":"$j2","created_at":"$t2"},{"job_id":"$j3"}]}}
a> {"arcp":"1.1","id":"5","type":"session.list_jobs","payload":{"filter":{"created_before":"$t3"}}}
a< {"payload":{"jobs":[{"job_id":"$j1"},{"job_id":"$j2"}]}}
a> {"arcp":"1.1","id":"6","type":"session.list_jobs","payload":{"filter":{"created_after":"$t1","created_before":"$t3"}}}
a< {"payload":{"jobs":[{"job_id":"$j2"}]}}
a> {"arcp":"1.1","id":"7","type":"session.list_jobs","payload":{"filter":{"created_after":"2025-12-31T23:59:59.999Z","created_before":"2026-01-01T00:00:00.001Z"}}}
a< {"payload":{"jobs":[{"job_id":"$j1"}]}}
a> {"arcp":"1.1","id":"8","type":"session.list_jobs","payload":{"filter":{"created_before":"soon"}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
# Agents: a name means every version, name@version that one; nothing is a prefix.
a> {"arcp":"1.1","id":"9","type":"session.list_jobs","payload":{"filter":{"agent":"wor"}}}
a< {"payload":{"jobs":[]}}
a> {"arcp":"1.1","id":"10","type":"session.list_jobs","payload":{"filter":{"agent":"work@1.0.0"}}}
a< {"payload":{"jobs":[{"job_id":"$j1"}]}}
a> {"arcp":"1.1","id":"11","type":"session.list_jobs","payload":{"filter":{"agent":"work@1"}}}
a< {"payload":{"jobs":[]}}
# Each way to end is a status of its own.
agent $j1> {"type":"job.error","payload":{"code":"TIMEOUT","message":"slow"}}
a< {"type":"job.error","event_seq":5}
a> {"arcp":"1.1","id":"12","type":"job.cancel","payload":{"job_id":"$j2"}}
a< {"type":"job.cancelled"}
agent $j2 exits 0
a< {"type":"job.error","event_seq":6}
agent $j3> {"type":"job.error","payload":{"code":"INTERNAL_ERROR","message":"no"}}
a< {"type":"job.error","event_seq":7}
a> {"arcp":"1.1","id":"13","type":"session.list_jobs","payload":{"filter":{"status":["timed_out"]}}}
a< {"payload":{"jobs":[{"job_id":"$j1","status":"timed_out","last_event_seq":5}]}}
a> {"arcp":"1.1","id":"14","type":"session.list_jobs","payload":{"filter":{"status":["cancelled","error"]}}}
a< {"payload":{"jobs":[{"job_id":"$j2","status":"cancelled"},{"job_id":"$j3","status":"error"}]}}
a> {"arcp":"1.1","id":"15","type":"session.list_jobs","payload":{"filter":{"status":["success"]}}}
a< {"payload":{"jobs":[],"next_cursor":null}}
a> {"arcp":"1.1","id":"16","type":"session.list_jobs","payload":{"filter":{"status":["error","nope"]}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"17","type":"session.list_jobs","payload":{"filter":{}}}
a< {"payload":{"jobs":[{"job_id":"$j1"},{"job_id":"$j2"},{"job_id":"$j3"}]}}
