# §9.2: a runtime may narrow a lease, never widen it; job.accepted shows it, the log says why.
# [arcp:LA-1] [arcp:LA-10]
policy {"principal":"alice","agent":"work",
    "max_lease":{"fs.read":["/srv/**"],"tool.call":["web.*"],"agent.delegate":["**"]},
    "max_budget":["USD:5"]}
policy {"principal":"bob","max_lifetime_sec":60}
policy {"agent":"echo","max_lease":{"net.fetch":["https://api.example.com/**"],"fs.read":["**"],
    "agent.delegate":["**"]}}
policy {"principal":"carol","max_budget":["USD:7"],"max_lifetime_sec":100000}
hello a alice
hello b bob
hello c carol
# Patterns within the ceiling are kept; others are removed, and so are capabilities that the ceiling does
# not name; [] if nothing is left; the smaller budget is used.
a> job.submit #1 {"agent":"work","lease_request":{"fs.read":["/srv/a/**","/etc/**"],
    "tool.call":["rm"],"fs.write":["/tmp/x"],"net.fetch":["https://**"],"x-vendor.a.b":["**"],
    "cost.budget":["USD:9","EUR:1"]}}
a< job.accepted {"job_id":"$j","payload":{"lease":{"fs.read":["/srv/a/**"],"tool.call":[],
    "fs.write":[],"net.fetch":[],"x-vendor.a.b":[],"cost.budget":["USD:5","EUR:1"]},
    "budget":{"USD":5,"EUR":1}}}
a< job.event {"payload":{"kind":"status"}}
audit< {"decision":"narrowed","principal":"alice","agent":"work@1.0.0",
    "rule":"policy[0]: principal alice, agent work","job_id":"$j",
    "dropped":[{"capability":"fs.read","pattern":"/etc/**","narrowed_to":[]},
    {"capability":"tool.call","pattern":"rm","narrowed_to":[]},
    {"capability":"fs.write","pattern":"/tmp/x","narrowed_to":[]},
    {"capability":"net.fetch","pattern":"https://**","narrowed_to":[]},
    {"capability":"x-vendor.a.b","pattern":"**","narrowed_to":[]},
    {"capability":"cost.budget","pattern":"USD:9","narrowed_to":["USD:5"]}]}
agent $j< {"type":"job.start","payload":{"lease":{"fs.read":["/srv/a/**"],"tool.call":[]},
    "budget":{"USD":5,"EUR":1}}}
agent $j> {"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/etc/passwd"}}
agent $j< {"re":"1","payload":{"error":{"code":"PERMISSION_DENIED"}}}
# A currency that was not requested is limited too.
a> job.submit #2 {"agent":"work"}
a< job.accepted {"payload":{"lease":{"cost.budget":["USD:5"]},"budget":{"USD":5}}}
a< job.event {"payload":{"kind":"status"}}
# A row applies to its agent and its principal. Without max_lease it restricts no capabilities.
a> job.submit #3 {"agent":"echo","lease_request":{"fs.read":["/etc/**"],"net.fetch":["https://**"]}}
a< job.accepted {"payload":{"lease":{"fs.read":["/etc/**"],
    "net.fetch":["https://api.example.com/**"]},"budget":"$absent"}}
a< job.event {"payload":{"kind":"status"}}
c> job.submit #1 {"agent":"work","lease_request":{"fs.read":["/etc/**"]}}
c< job.accepted {"payload":{"lease":{"fs.read":["/etc/**"],"cost.budget":["USD:7"]}}}
c< job.event {"payload":{"kind":"status"}}
# A lifetime sets an expiry or shortens it, but never extends it.
b> job.submit #1 {"agent":"work"}
b< job.accepted {"job_id":"$l","payload":{"lease_constraints":{"expires_at":"$_"}}}
b< job.event {"payload":{"kind":"status"}}
audit< {"decision":"narrowed","principal":"bob","rule":"policy[1]: principal bob, agent *",
    "job_id":"$l","dropped":[{"capability":"expires_at"}]}
b> job.submit #2 {"agent":"work","lease_constraints":{"expires_at":"$in_30s"}}
b< job.accepted {"payload":{"lease_constraints":{"expires_at":"$in_30s"}}}
b< job.event {"payload":{"kind":"status"}}
# The ceiling of its agent narrows a child, too.
a> job.submit #4 {"agent":"echo","lease_request":{"fs.read":["/**"],"agent.delegate":["work"]}}
a< job.accepted {"job_id":"$p"}
a< job.event {"payload":{"kind":"status"}}
agent $p> {"type":"delegate","payload":{"agent":"work",
    "lease_request":{"fs.read":["/srv/x","/etc/x"]}}}
a< job.accepted {"payload":{"parent_job_id":"$p",
    "lease":{"fs.read":["/srv/x"],"cost.budget":["USD:5"]}}}
a< job.event {"payload":{"kind":"delegate"}}
a< job.event {"payload":{"kind":"status"}}
# A request that needs features that were not negotiated is checked before it is narrowed.
d> session.hello #h {"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":[]}}
d< session.welcome
d> job.submit #1 {"agent":"work","lease_request":{"cost.budget":[]}}
d< job.error {"payload":{"code":"INVALID_REQUEST"}}
d> job.submit #2 {"agent":"work"}
d< job.accepted {"payload":{"lease":{"cost.budget":["USD:5"]},"budget":"$absent"}}
d< job.event {"payload":{"kind":"status"}}
