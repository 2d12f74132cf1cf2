# Jobs whose agents are confined: how is the first event, what was denied is an event for each operation.
setting enforce.denials_per_job 2
host confines
hello a alice
a> job.submit #1 {"agent":"echo","idempotency_key":"k","lease_request":{"fs.read":["/srv/**"]}}
a< job.accepted {"job_id":"$j"}
a< job.event {"event_seq":1,"job_id":"$j","payload":{"kind":"status","body":{"phase":"enforcement",
    "message":"2 exact, 1 refused","level":"full","lines":[{"verdict":"refused"}],"base":["/usr"]}}}
a< job.event {"event_seq":2,"payload":{"kind":"status","body":{"phase":"running"}}}
audit< {"event":"enforcement","decision":"confined","job_id":"$j","principal":"alice","level":"full",
    "plan_sha256":"0123456789abcdef","lines":[{"verdict":"refused"}]}
agent $j< {"type":"job.start"}

# Each operation that the sandbox denies is one event, up to the limit.
denied $j broker fs.read /etc/shadow
a< job.event {"event_seq":3,"payload":{"kind":"status","body":{"phase":"denied",
    "message":"fs.read /etc/shadow","capability":"fs.read","target":"/etc/shadow",
    "code":"PERMISSION_DENIED","reason":"NO_MATCH","layer":"broker","program":"sh","count":1}}}
audit< {"event":"gate","decision":"denied","job_id":"$j","code":"PERMISSION_DENIED","rule":"lease",
    "capability":"fs.read","target":"/etc/shadow","reason":"NO_MATCH","layer":"broker",
    "program":"sh"}
denied $j broker fs.read /etc/shadow
a< nothing
denied $j egress net.fetch https://example.com/
a< job.event {"event_seq":4,"payload":{"body":{"capability":"net.fetch","layer":"egress"}}}
denied $j gateway tool.call web.get
a< nothing
audit< {"event":"gate","capability":"tool.call","target":"web.get","layer":"gateway"}

# An agent cannot report these phases.
agent $j> {"type":"job.event","id":"e","payload":{"kind":"status","body":{"phase":"denied"}}}
agent $j< {"re":"e","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"f","payload":{"kind":"status","body":{"phase":"enforcement"}}}
agent $j< {"re":"f","payload":{"error":{"code":"INVALID_REQUEST"}}}
a< nothing

# The rest is counted in one event before the result.
agent $j> {"type":"job.result","payload":{"result":1}}
a< job.event {"event_seq":5,"payload":{"body":{"phase":"denied","message":"2 more denials",
    "count":2,"capability":"$absent"}}}
a< job.result {"event_seq":6,"job_id":"$j"}
agent $j exits 0
audit< {"event":"gate","decision":"denied","job_id":"$j","count":1,"reason":"REPEATED"}

# All of it is stored: another session gets it after a restart.
restart
hello b alice
b> job.subscribe #2 {"job_id":"$j","history":true}
b< job.subscribed {"job_id":"$j"}
b< job.event {"payload":{"body":{"phase":"enforcement","level":"full"}}}
b< job.event {"payload":{"body":{"phase":"running"}}}
b< job.event {"payload":{"body":{"phase":"denied","target":"/etc/shadow"}}}
b< job.event {"payload":{"body":{"phase":"denied","target":"https://example.com/"}}}
b< job.event {"payload":{"body":{"phase":"denied","count":2}}}
b< job.result {"job_id":"$j"}
