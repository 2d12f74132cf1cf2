# Instants to the year 9999, which many programs write for "never": compared by seconds and digits.
# [arcp:9.5-1]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"agent.delegate":["**"]},
    "lease_constraints":{"expires_at":"9999-12-31T23:59:58Z"}}
a< job.accepted {"job_id":"$p","payload":{"lease_constraints":{"expires_at":"9999-12-31T23:59:58Z"}}}
a< job.event {"payload":{"kind":"status"}}
agent $p< {"type":"job.start"}
# The expiry of a child may be equal, but not later.
agent $p> {"type":"delegate","id":"1",
    "payload":{"agent":"echo","lease_constraints":{"expires_at":"9999-12-31T23:59:58.0000000001Z"}}}
a< job.event {"job_id":"$p","payload":{"kind":"tool_result",
    "body":{"error":{"code":"LEASE_SUBSET_VIOLATION"}}}}
agent $p< {"re":"1","payload":{"error":{"code":"LEASE_SUBSET_VIOLATION"}}}
agent $p> {"type":"delegate","id":"2",
    "payload":{"agent":"echo","lease_constraints":{"expires_at":"2999-01-01T00:00:00Z"}}}
a< job.accepted {"payload":{"parent_job_id":"$p",
    "lease_constraints":{"expires_at":"2999-01-01T00:00:00Z"}}}
a< job.event {"job_id":"$p","payload":{"kind":"delegate"}}
a< job.event {"payload":{"kind":"status"}}
# Filters.
a> session.list_jobs #2 {"filter":{"created_before":"9999-12-31T23:59:59Z"}}
a< session.jobs {"payload":{"jobs":["$_","$_"]}}
a> session.list_jobs #3 {"filter":{"created_after":"9999-12-31T23:59:59Z"}}
a< session.jobs {"payload":{"jobs":[]}}
# Times before 1970 are invalid.
a> job.submit #4 {"agent":"echo","lease_constraints":{"expires_at":"1969-12-31T23:59:59Z"}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
# A restart reads it again.
restart
a> session.hello #5 {"auth":{"scheme":"bearer","token":"t-alice"}}
a< session.welcome
