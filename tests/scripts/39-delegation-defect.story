# The user's report: the child's lease is a subset of its parent's in every respect, or there is
# no child: patterns, remaining budget, expiry, models; what is left out never widens.
# [arcp:9.4-1] [arcp:9.4-2] [arcp:9.4-3] [arcp:9.4-4] [arcp:9.4-5] [arcp:9.4-8] [arcp:9.4-9]
# [arcp:9.8.2-12] [arcp:10-2] [arcp:10-3] [arcp:10-4] [arcp:LA-13] [arcp:LA-20] [arcp:LB-12]
# [arcp:DR-1] [arcp:DR-2] [arcp:DR-3] [arcp:DR-4] [arcp:DR-5] [arcp:DR-6]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"fs.read":["/srv/**"],"tool.call":["web.*"],
    "model.use":["gpt-4*"],"agent.delegate":["work@2.*"],"cost.budget":["USD:10","EUR:1"]},
    "lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"}}
a< job.accepted {"job_id":"$p"}
a< {"payload":{"kind":"status"}}
agent $p< {"type":"job.start"}
# agent.delegate is about the version that would run: the default is 1.0.0.
agent $p> {"type":"delegate","id":"a","payload":{"agent":"work","delegate_id":"A"}}
a< {"payload":{"kind":"tool_result",
    "body":{"call_id":"A",
    "error":{"code":"PERMISSION_DENIED",
    "details":{"capability":"agent.delegate","target":"work@1.0.0"}}}}}
agent $p< {"re":"a","payload":{"error":{"code":"PERMISSION_DENIED"}}}
agent $p> {"type":"delegate","id":"b","payload":{"agent":"nobody","delegate_id":"B"}}
a< {"payload":{"kind":"tool_result",
    "body":{"call_id":"B","error":{"code":"AGENT_NOT_AVAILABLE","retryable":false}}}}
agent $p< {"re":"b","payload":{"error":{"code":"AGENT_NOT_AVAILABLE"}}}
agent $p> {"type":"delegate","id":"c","payload":{"agent":"work@9","delegate_id":"C"}}
a< {"payload":{"kind":"tool_result",
    "body":{"call_id":"C","error":{"code":"AGENT_VERSION_NOT_AVAILABLE"}}}}
agent $p< {"re":"c"}
# A pattern beyond the parent's, and a capability and a model that the parent does not have.
agent $p> {"type":"delegate","payload":{"agent":"work@2.0.0","delegate_id":"D",
    "lease_request":{"tool.call":["web.**"]}}}
a< {"payload":{"body":{"call_id":"D",
    "error":{"code":"LEASE_SUBSET_VIOLATION","retryable":false,
    "details":{"capability":"tool.call","child_pattern":"web.**","witness":"$w"}}}}}
agent $p> {"type":"authorize","id":"w","payload":{"capability":"tool.call","target":"$w"}}
agent $p< {"re":"w","payload":{"error":{"code":"PERMISSION_DENIED"}}}
agent $p> {"type":"delegate","payload":{"agent":"work@2.0.0","delegate_id":"E",
    "lease_request":{"fs.write":["/srv/x"]}}}
a< {"payload":{"body":{"call_id":"E",
    "error":{"code":"LEASE_SUBSET_VIOLATION",
    "details":{"capability":"fs.write","child_pattern":"/srv/x","witness":"/srv/x"}}}}}
agent $p> {"type":"delegate","payload":{"agent":"work@2.0.0","delegate_id":"F",
    "lease_request":{"model.use":["*"]}}}
a< {"payload":{"body":{"call_id":"F",
    "error":{"code":"LEASE_SUBSET_VIOLATION",
    "details":{"capability":"model.use","child_pattern":"*"}}}}}
# Budgets are numbers, compared with what remains: 7 of 10.
agent $p> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.x","value":3,"unit":"USD"}}}
a< {"payload":{"body":{"name":"cost.x"}}}
a< {"payload":{"body":{"name":"cost.budget.remaining","value":7}}}
agent $p> {"type":"delegate","payload":{"agent":"work@2.0.0","delegate_id":"G",
    "lease_request":{"cost.budget":["USD:4","USD:3.01"]}}}
a< {"payload":{"body":{"call_id":"G",
    "error":{"code":"LEASE_SUBSET_VIOLATION",
    "details":{"capability":"cost.budget","child_pattern":"USD:4","witness":"USD:7.01"}}}}}
agent $p> {"type":"delegate","payload":{"agent":"work@2.0.0","delegate_id":"H",
    "lease_request":{"cost.budget":["GBP:1"]}}}
a< {"payload":{"body":{"call_id":"H",
    "error":{"code":"LEASE_SUBSET_VIOLATION",
    "details":{"capability":"cost.budget","child_pattern":"GBP:1"}}}}}
# Expiry.
agent $p> {"type":"delegate","payload":{"agent":"work@2.0.0","delegate_id":"I",
    "lease_constraints":{"expires_at":"2190-01-01T00:00:00.000000001Z"}}}
a< {"payload":{"body":{"call_id":"I",
    "error":{"code":"LEASE_SUBSET_VIOLATION",
    "details":{"capability":"expires_at","child_pattern":"2190-01-01T00:00:00.000000001Z"}}}}}
# A malformed lease is an invalid request, not a violation.
agent $p> {"type":"delegate","id":"j",
    "payload":{"agent":"work@2.0.0","delegate_id":"J","lease_request":{"made.up":["x"]}}}
a< {"payload":{"body":{"call_id":"J","error":{"code":"INVALID_REQUEST"}}}}
agent $p< {"re":"j","payload":{"error":{"code":"INVALID_REQUEST"}}}
a< nothing
# None of these created a child job.
a> session.list_jobs #2
a< session.jobs {"payload":{"jobs":[{"job_id":"$p"}]}}
# An equal lease is a subset; an absent request is the empty lease, never the parent's.
agent $p> {"type":"delegate","payload":{"agent":"work@2.0.0",
    "lease_request":{"fs.read":["/srv/**"],"tool.call":["web.*"],"model.use":["gpt-4*"],
    "agent.delegate":["work@2.*"],"cost.budget":["USD:7","EUR:1"]},
    "lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"}}}
a< job.accepted {"job_id":"$c","payload":{"parent_job_id":"$p",
    "lease":{"fs.read":["/srv/**"],"model.use":["gpt-4*"],"cost.budget":["USD:7","EUR:1"]},
    "budget":{"USD":7,"EUR":1}}}
a< {"job_id":"$p","payload":{"kind":"delegate"}}
a< {"job_id":"$c","payload":{"kind":"status"}}
agent $p> {"type":"delegate","payload":{"agent":"work@2.0.0","lease_constraints":{}}}
a< job.accepted {"job_id":"$e","payload":{"lease":{"fs.read":"$absent","model.use":[],
    "tool.call":"$absent","cost.budget":"$absent"},
    "lease_constraints":{"expires_at":"2190-01-01T00:00:00Z"}}}
a< {"job_id":"$p","payload":{"kind":"delegate",
    "body":{"child_job_id":"$e","lease_request":"$absent","lease_constraints":{}}}}
a< {"job_id":"$e","payload":{"kind":"status"}}
# Both leases are enforced on their jobs.
agent $c< {"type":"job.start"}
agent $c> {"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/srv/x"}}
agent $c< {"re":"1","payload":{"allow":true}}
agent $e< {"type":"job.start","payload":{"lease":{"model.use":[]}}}
agent $e> {"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/srv/x"}}
agent $e< {"re":"1","payload":{"error":{"code":"PERMISSION_DENIED"}}}
agent $e> {"type":"authorize","id":"2","payload":{"capability":"model.use","target":"gpt-4"}}
agent $e< {"re":"2","payload":{"error":{"code":"PERMISSION_DENIED"}}}
