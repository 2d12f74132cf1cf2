# jobs.idempotency_ttl_sec: a key is known until this time has passed, and free afterwards; all five
# parameters count, and no others.
setting jobs.idempotency_ttl_sec 3600
a> session.hello #h {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["lease_expires_at"]}}
a< session.welcome
a> job.submit #1 {"agent":"work","input":{"a":[1,{"b":null}]},"max_runtime_sec":50000,
    "lease_request":{"fs.read":["/a","/b"]},
    "lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"},"idempotency_key":"K"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
a> {"arcp":"1.1","id":"2","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","type":"job.submit",
    "payload":{"idempotency_key":"K","unknown":1,
    "lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"},
    "lease_request":{"fs.read":["/a","/b"]},"max_runtime_sec":5e4,
    "input":{"a":[1.00,{"\u0062":null}]},"agent":"work"}}
a< job.accepted {"id":"2","job_id":"$j"}
a> job.submit #3 {"agent":"work","input":{"a":[{"b":null},1]},"max_runtime_sec":50000,
    "lease_request":{"fs.read":["/a","/b"]},
    "lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"},"idempotency_key":"K"}
a< job.error {"payload":{"code":"DUPLICATE_KEY"}}
a> job.submit #4 {"agent":"work","input":{"a":[1,{"b":null}]},"max_runtime_sec":50001,
    "lease_request":{"fs.read":["/a","/b"]},
    "lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"},"idempotency_key":"K"}
a< job.error {"payload":{"code":"DUPLICATE_KEY"}}
a> job.submit #5 {"agent":"work","input":{"a":[1,{"b":null}]},"max_runtime_sec":50000,
    "lease_request":{"fs.read":["/a"]},"lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"},
    "idempotency_key":"K"}
a< job.error {"payload":{"code":"DUPLICATE_KEY"}}
a> job.submit #6 {"agent":"work","input":{"a":[1,{"b":null}]},"max_runtime_sec":50000,
    "lease_request":{"fs.read":["/a","/b"]},"idempotency_key":"K"}
a< job.error {"payload":{"code":"DUPLICATE_KEY"}}
clock +3599999ms
a> job.submit #7 {"agent":"echo","idempotency_key":"K"}
a< job.error {"payload":{"code":"DUPLICATE_KEY","details":{"job_id":"$j"}}}
clock +1ms
a> job.submit #8 {"agent":"echo","idempotency_key":"K"}
a< job.accepted {"job_id":"$k","payload":{"agent":"echo"}}
a< {"job_id":"$k","payload":{"kind":"status"}}
# After a restart the key belongs to the new job, although the old row is deleted later.
clock +120s
restart
hello b alice
b> job.submit #1 {"agent":"echo","idempotency_key":"K"}
b< job.accepted {"job_id":"$k"}
