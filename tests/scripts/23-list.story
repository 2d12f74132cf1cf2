# §6.6: filters, order, cursors.
# [arcp:6.6-2] [arcp:6.6-3] [arcp:6.6-4]
hello a alice
a> job.submit #1 {"agent":"work"}
a< job.accepted {"job_id":"$j1"}
a< {"event_seq":1}
a> job.submit #2 {"agent":"work@2.0.0"}
a< job.accepted {"job_id":"$j2"}
a< {"event_seq":2}
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$j3"}
a< {"event_seq":3}
agent $j3 exits 0
a< job.result
a> session.list_jobs #4 {"limit":2}
a< session.jobs {"id":"4","event_seq":"$absent",
    "payload":{"request_id":"4",
    "jobs":[{"job_id":"$j1","agent":"work@1.0.0","status":"running","lease":{},"parent_job_id":null,
    "created_at":"$t","trace_id":"$_","last_event_seq":1},{"job_id":"$j2"}],"next_cursor":"$next"}}
a> session.list_jobs #5 {"limit":2,"cursor":"$next"}
a< {"payload":{"jobs":[{"job_id":"$j3","status":"success","last_event_seq":4}],"next_cursor":null}}
a> session.list_jobs #6 {"filter":{"agent":"work"}}
a< {"payload":{"jobs":[{"job_id":"$j1"},{"job_id":"$j2"}]}}
a> session.list_jobs #7 {"filter":{"agent":"work@2.0.0","status":["running","pending"]}}
a< {"payload":{"jobs":[{"job_id":"$j2"}]}}
a> session.list_jobs #8 {"filter":{"status":["success"]}}
a< {"payload":{"jobs":[{"job_id":"$j3"}]}}
a> session.list_jobs #9 {"filter":{"created_after":"$t"}}
a< {"payload":{"jobs":[]}}
a> session.list_jobs #10 {"filter":{"status":["sleeping"]}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> session.list_jobs #11 {"cursor":"zzz"}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> session.list_jobs #12 {"limit":0}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> session.list_jobs #13 {"limit":1001}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> session.list_jobs #14 {"filter":{"created_after":"yesterday"}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
# Ended jobs are removed after a day.
drop a
clock +25h
hello b alice
b> session.list_jobs #1 {"filter":{"status":["success"]}}
b< {"payload":{"jobs":[]}}
b> job.subscribe #2 {"job_id":"$j3"}
b< job.error {"payload":{"code":"JOB_NOT_FOUND"}}
