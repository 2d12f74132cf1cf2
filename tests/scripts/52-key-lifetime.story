# jobs.idempotency_ttl_sec: a key is known until it is over, and free from then on; all five
# parameters count, and nothing else does.
setting jobs.idempotency_ttl_sec 3600
a> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["lease_expires_at"]}}}
a< {"type":"session.welcome"}
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"work","input":{"a":[1,{"b":null}]},"max_runtime_sec":50000,"lease_request":{"fs.read":["/a","/b"]},"lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"},"idempotency_key":"K"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
a> {"arcp":"1.1","id":"2","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","type":"job.submit","payload":{"idempotency_key":"K","unknown":1,"lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"},"lease_request":{"fs.read":["/a","/b"]},"max_runtime_sec":5e4,"input":{"a":[1.00,{"\u0062":null}]},"agent":"work"}}
a< {"type":"job.accepted","id":"2","job_id":"$j"}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"work","input":{"a":[{"b":null},1]},"max_runtime_sec":50000,"lease_request":{"fs.read":["/a","/b"]},"lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"},"idempotency_key":"K"}}
a< {"type":"job.error","payload":{"code":"DUPLICATE_KEY"}}
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"work","input":{"a":[1,{"b":null}]},"max_runtime_sec":50001,"lease_request":{"fs.read":["/a","/b"]},"lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"},"idempotency_key":"K"}}
a< {"type":"job.error","payload":{"code":"DUPLICATE_KEY"}}
a> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"work","input":{"a":[1,{"b":null}]},"max_runtime_sec":50000,"lease_request":{"fs.read":["/a"]},"lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"},"idempotency_key":"K"}}
a< {"type":"job.error","payload":{"code":"DUPLICATE_KEY"}}
a> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"work","input":{"a":[1,{"b":null}]},"max_runtime_sec":50000,"lease_request":{"fs.read":["/a","/b"]},"idempotency_key":"K"}}
a< {"type":"job.error","payload":{"code":"DUPLICATE_KEY"}}
clock +3599.999s
a> {"arcp":"1.1","id":"7","type":"job.submit","payload":{"agent":"echo","idempotency_key":"K"}}
a< {"type":"job.error","payload":{"code":"DUPLICATE_KEY","details":{"job_id":"$j"}}}
clock +1ms
a> {"arcp":"1.1","id":"8","type":"job.submit","payload":{"agent":"echo","idempotency_key":"K"}}
a< {"type":"job.accepted","job_id":"$k","payload":{"agent":"echo"}}
a< {"job_id":"$k","payload":{"kind":"status"}}
# The new owner of the key is what a restart finds, although the old row is swept later.
clock +120s
restart
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"K"}}
b< {"type":"job.accepted","job_id":"$k"}
