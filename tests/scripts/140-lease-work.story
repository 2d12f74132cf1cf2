# The work of checking the leases of one request is limited: above the limit it is refused, without any
# effect.
setting limits.lease_steps 1000
policy {"principal":"*","agent":"work",
    "max_lease":{"fs.read":["/srv/**","/data/*/pub/**"],"agent.delegate":["**"]}}
hello a alice
# Ordinary patterns are within the limit.
a> job.submit #1 {"agent":"work","lease_request":{"fs.read":["/srv/a/**","/data/x/**",
    "/etc/passwd"]}}
a< job.accepted {"payload":{"request_id":"1","lease":{"fs.read":["/srv/a/**","/data/x/pub/**"]}}}
a< job.event {"payload":{"kind":"status"}}
# A pattern designed to take long is not.
a> job.submit #2 {"agent":"work","idempotency_key":"k",
    "lease_request":{"fs.read":["/*****/**/***a*/*/*/***a/*/*/*/*?/**/a*/*/*aa*/**aaaaaaa**/aaa*/**/b*a*/a**a**bb*aa***ba***a*a**a***a?aa**b*aa*a"]}}
a< job.error {"payload":{"request_id":"2","code":"INVALID_REQUEST","retryable":false,
    "details":{"reason":"TOO_COMPLEX"}}}
audit< {"event":"submit","decision":"denied","principal":"alice","code":"INVALID_REQUEST",
    "details":"{\"reason\":\"TOO_COMPLEX\"}"}
# The key is free, and the session goes on.
a> job.submit #3 {"agent":"work","idempotency_key":"k"}
a< job.accepted {"payload":{"request_id":"3"}}
a< job.event {"payload":{"kind":"status"}}
# A delegation: the comparison with the parent's lease counts, and so does the policy.
a> job.submit #4 {"agent":"echo","lease_request":{"fs.read":["/**/b*a/**/*ba*/**/c",
    "/**/aa*aa/**/*a*bb/**","/q/*/*"],"agent.delegate":["**"]}}
a< job.accepted {"job_id":"$p"}
a< job.event {"payload":{"kind":"status"}}
agent $p< {"type":"job.start"}
agent $p> {"type":"delegate","id":"d1",
    "payload":{"agent":"echo","delegate_id":"D1",
    "lease_request":{"fs.read":["/*****/**/***a*/*/*/***a/*/*/*/*?/**/a*/*/*aa*/**aaaaaaa**/aaa*/**/b*a*/a**a**bb*aa***ba***a*a**a***a?aa**b*aa*a"]}}}
a< job.event {"job_id":"$p","payload":{"kind":"tool_result",
    "body":{"call_id":"D1","error":{"code":"INVALID_REQUEST","details":{"reason":"TOO_COMPLEX"}}}}}
agent $p< {"re":"d1","payload":{"error":{"code":"INVALID_REQUEST",
    "details":{"reason":"TOO_COMPLEX"}}}}
audit< {"event":"delegation","decision":"denied","code":"INVALID_REQUEST"}
# Another one within the limit is created.
agent $p> {"type":"delegate","id":"d2",
    "payload":{"agent":"echo","lease_request":{"fs.read":["/q/x/*"]}}}
a< job.accepted {"payload":{"parent_job_id":"$p"}}
