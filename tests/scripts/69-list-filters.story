# §6.6, docs/protocol.md, list_jobs: filters on both sides of their bounds, statuses of every kind.
# [arcp:6.6-2] [arcp:7.3-1]
hello a alice
hello b bob
a> job.submit #1 {"agent":"work"}
a< job.accepted {"job_id":"$j1","payload":{"accepted_at":"$t1"}}
a< {"event_seq":1}
clock +1s
a> job.submit #2 {"agent":"work@2.0.0"}
a< job.accepted {"job_id":"$j2","payload":{"accepted_at":"$t2"}}
a< {"event_seq":2}
clock +1s
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$j3","payload":{"accepted_at":"$t3"}}
a< {"event_seq":3}
b> job.submit #1 {"agent":"echo"}
b< job.accepted {"job_id":"$theirs"}
# created_after and created_before are exclusive.
a> session.list_jobs #4 {"filter":{"created_after":"$t1"}}
a< {"payload":{"jobs":[{"job_id":"$j2","created_at":"$t2"},{"job_id":"$j3"}]}}
a> session.list_jobs #5 {"filter":{"created_before":"$t3"}}
a< {"payload":{"jobs":[{"job_id":"$j1"},{"job_id":"$j2"}]}}
a> session.list_jobs #6 {"filter":{"created_after":"$t1","created_before":"$t3"}}
a< {"payload":{"jobs":[{"job_id":"$j2"}]}}
a> session.list_jobs #7 {"filter":{"created_after":"2025-12-31T23:59:59.999Z",
    "created_before":"2026-01-01T00:00:00.001Z"}}
a< {"payload":{"jobs":[{"job_id":"$j1"}]}}
a> session.list_jobs #8 {"filter":{"created_before":"soon"}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
# Agents: a name matches every version, name@version only that one; prefixes do not match.
a> session.list_jobs #9 {"filter":{"agent":"wor"}}
a< {"payload":{"jobs":[]}}
a> session.list_jobs #10 {"filter":{"agent":"work@1.0.0"}}
a< {"payload":{"jobs":[{"job_id":"$j1"}]}}
a> session.list_jobs #11 {"filter":{"agent":"work@1"}}
a< {"payload":{"jobs":[]}}
# Each way to end has its own status.
agent $j1> {"type":"job.error","payload":{"code":"TIMEOUT","message":"slow"}}
a< job.error {"event_seq":5}
a> job.cancel #12 {"job_id":"$j2"}
a< job.cancelled
agent $j2 exits 0
a< job.error {"event_seq":6}
agent $j3> {"type":"job.error","payload":{"code":"INTERNAL_ERROR","message":"no"}}
a< job.error {"event_seq":7}
a> session.list_jobs #13 {"filter":{"status":["timed_out"]}}
a< {"payload":{"jobs":[{"job_id":"$j1","status":"timed_out","last_event_seq":5}]}}
a> session.list_jobs #14 {"filter":{"status":["cancelled","error"]}}
a< {"payload":{"jobs":[{"job_id":"$j2","status":"cancelled"},{"job_id":"$j3","status":"error"}]}}
a> session.list_jobs #15 {"filter":{"status":["success"]}}
a< {"payload":{"jobs":[],"next_cursor":null}}
a> session.list_jobs #16 {"filter":{"status":["error","nope"]}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> session.list_jobs #17 {"filter":{}}
a< {"payload":{"jobs":[{"job_id":"$j1"},{"job_id":"$j2"},{"job_id":"$j3"}]}}
