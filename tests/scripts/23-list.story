# §6.6: filters, order, cursors.
# [arcp:6.6-2] [arcp:6.6-3] [arcp:6.6-4]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"work"}}
a< {"type":"job.accepted","job_id":"$j1"}
a< {"event_seq":1}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"work@2.0.0"}}
a< {"type":"job.accepted","job_id":"$j2"}
a< {"event_seq":2}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j3"}
a< {"event_seq":3}
agent $j3 exits 0
a< {"type":"job.result"}
a> {"arcp":"1.1","id":"4","type":"session.list_jobs","payload":{"limit":2}}
a< {"type":"session.jobs","id":"4","event_seq":"$absent","payload":{"request_id":"4","jobs":[{"job_id":"$j1","agent":"work@1.0.0","status":"running","lease":{},"parent_job_id":null,"created_at":"$t","trace_id":"$_","last_event_seq":1},{"job_id":"$j2"}],"next_cursor":"$next"}}
a> {"arcp":"1.1","id":"5","type":"session.list_jobs","payload":{"limit":2,"cursor":"$next"}}
a< {"payload":{"jobs":[{"job_id":"$j3","status":"success","last_event_seq":4}],"next_cursor":null}}
a> {"arcp":"1.1","id":"6","type":"session.list_jobs","payload":{"filter":{"agent":"work"}}}
a< {"payload":{"jobs":[{"job_id":"$j1"},{"job_id":"$j2"}]}}
a> {"arcp":"1.1","id":"7","type":"session.list_jobs","payload":{"filter":{"agent":"work@2.0.0","status":["running","pending"]}}}
a< {"payload":{"jobs":[{"job_id":"$j2"}]}}
a> {"arcp":"1.1","id":"8","type":"session.list_jobs","payload":{"filter":{"status":["success"]}}}
a< {"payload":{"jobs":[{"job_id":"$j3"}]}}
a> {"arcp":"1.1","id":"9","type":"session.list_jobs","payload":{"filter":{"created_after":"$t"}}}
a< {"payload":{"jobs":[]}}
a> {"arcp":"1.1","id":"10","type":"session.list_jobs","payload":{"filter":{"status":["sleeping"]}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"11","type":"session.list_jobs","payload":{"cursor":"zzz"}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"12","type":"session.list_jobs","payload":{"limit":0}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"13","type":"session.list_jobs","payload":{"limit":1001}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"14","type":"session.list_jobs","payload":{"filter":{"created_after":"yesterday"}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
# Ended jobs are forgotten after a day.
drop a
clock +25h
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"session.list_jobs","payload":{"filter":{"status":["success"]}}}
b< {"payload":{"jobs":[]}}
b> {"arcp":"1.1","id":"2","type":"job.subscribe","payload":{"job_id":"$j3"}}
b< {"type":"job.error","payload":{"code":"JOB_NOT_FOUND"}}
