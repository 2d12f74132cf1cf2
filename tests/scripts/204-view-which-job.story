# docs/protocol.md, The view: a job is named by its id, or by a beginning or end of it that no other job of
# the principal has. Jobs of other principals are refused as a subscribe is, and found by whole ids only.
# One shard: with several, a job of another principal is JOB_NOT_FOUND.
hello a alice
hello b bob
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< {"event_seq":1}
b> job.submit #1 {"agent":"echo"}
b< job.accepted {"job_id":"$theirs"}
a> x-vendor.arcpd.job #2 {"job_id":"job_"}
a< {"payload":{"job_id":"$j1"}}
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$j2"}
a< {"event_seq":2}
a> x-vendor.arcpd.job #4 {"job_id":"job_"}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> x-vendor.arcpd.job #5 {"job_id":"nothing"}
a< job.error {"payload":{"code":"JOB_NOT_FOUND","details":{"job_id":"nothing"}}}
a> x-vendor.arcpd.job #6 {"job_id":"$theirs"}
a< job.error {"payload":{"code":"PERMISSION_DENIED"}}
a> x-vendor.arcpd.events #7 {"job_id":"$theirs"}
a< job.error {"payload":{"code":"PERMISSION_DENIED"}}
a> x-vendor.arcpd.stderr #8 {"job_id":"$theirs"}
a< job.error {"payload":{"code":"PERMISSION_DENIED"}}
a> x-vendor.arcpd.end #9 {"job_id":"$theirs"}
a< job.error {"payload":{"code":"PERMISSION_DENIED"}}
a> x-vendor.arcpd.job #10
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
