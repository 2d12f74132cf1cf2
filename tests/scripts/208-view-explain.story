# docs/protocol.md, The view: x-vendor.arcpd.explain: what a submit would grant, and how, without a job.
policy {"principal":"bob","max_lease":{"fs.read":["/srv/a/**"]}}
host confines
hello a alice
a> x-vendor.arcpd.explain #1 {"agent":"echo","lease_request":{"fs.read":["/srv/**"]}}
a< x-vendor.arcpd.explain.answer {"event_seq":"$absent","payload":{"request_id":"1","agent":"echo",
    "lease":{"fs.read":["/srv/**"]},"lease_constraints":"$absent","runs":true,"level":"full",
    "lines":[{"verdict":"refused"}],"refusal":"$absent"}}
# The lease is that which the operator's policy leaves.
hello b bob
b> x-vendor.arcpd.explain #1 {"agent":"echo","lease_request":{"fs.read":["/srv/**"]}}
b< x-vendor.arcpd.explain.answer {"payload":{"lease":{"fs.read":["/srv/a/**"]}}}
# No job was made: nothing else comes, and none is listed.
a> x-vendor.arcpd.jobs #2
a< x-vendor.arcpd.jobs.answer {"payload":{"jobs":[]}}
# A lease that could not be enforced well enough is explained, and a machine without sandboxes.
host refuses
a> x-vendor.arcpd.explain #3 {"agent":"echo","lease_request":{"fs.read":["/proc/**"]}}
a< x-vendor.arcpd.explain.answer {"payload":{"runs":false,
    "refusal":"fs.read /proc/** is refused, enforce.min is exact"}}
host is unavailable
a> x-vendor.arcpd.explain #4 {"agent":"echo"}
a< x-vendor.arcpd.explain.answer {"payload":{"runs":false,"level":"$absent","lines":"$absent",
    "refusal":"this machine cannot confine agents"}}
# What a submit refuses is refused here with the same error.
host confines
a> x-vendor.arcpd.explain #5 {"agent":"nobody"}
a< job.error {"payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"5"}}
a> x-vendor.arcpd.explain #6 {"agent":"echo","lease_request":{"fs.read":"/srv"}}
a< job.error {"payload":{"code":"INVALID_REQUEST","request_id":"6"}}
a> x-vendor.arcpd.explain #7 {"agent":"echo","lease_constraints":{"expires_at":"2001-01-01T00:00:00Z"}}
a< job.error {"payload":{"code":"INVALID_REQUEST","message":"lease_constraints.expires_at is not in the future"}}
a> x-vendor.arcpd.explain #8 {"lease_request":{}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
