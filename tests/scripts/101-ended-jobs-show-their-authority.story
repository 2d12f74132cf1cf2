# §6.6, §7.6: for an ended job without an agent, the granted lease and the remaining budget are shown;
# also for a child, and after a restart. [arcp:7.6-6] [arcp:7.6-7]
hello a alice
a> job.submit #1 {"agent":"work@2.0.0",
    "lease_request":{"cost.budget":["USD:5.00"],"tool.call":["web.*"],"agent.delegate":["*"]},
    "lease_constraints":{"expires_at":"2099-01-01T00:00:00Z"}}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j> {"type":"delegate","id":"d",
    "payload":{"agent":"echo","input":1,
    "lease_request":{"tool.call":["web.search"],"cost.budget":["USD:1"]}}}
a< job.accepted {"job_id":"$child","payload":{"parent_job_id":"$j"}}
a< {"event_seq":2}
a< {"event_seq":3,"job_id":"$child"}
agent $child> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":0.25,"unit":"USD"}}}
a< {"event_seq":4,"job_id":"$child"}
a< {"event_seq":5,"job_id":"$child",
    "payload":{"body":{"name":"cost.budget.remaining","value":0.75}}}
a< {"event_seq":6,"job_id":"$j","payload":{"body":{"name":"cost.budget.remaining","value":4.75}}}
agent $child> {"type":"job.result","payload":{}}
agent $child exits 0
a< job.result {"event_seq":7,"job_id":"$child"}
agent $j> {"type":"job.result","payload":{}}
agent $j exits 0
a< job.result {"event_seq":8,"job_id":"$j"}
a> session.list_jobs #2
a< session.jobs {"payload":{"jobs":[{"job_id":"$j","status":"success",
    "lease":{"cost.budget":["USD:5.00"],"tool.call":["web.*"],"agent.delegate":["*"]},
    "lease_constraints":{"expires_at":"2099-01-01T00:00:00Z"},"budget":{"USD":4.75}},
    {"job_id":"$child","lease":{"tool.call":["web.search"],"cost.budget":["USD:1"]},
    "lease_constraints":{"expires_at":"2099-01-01T00:00:00Z"},"budget":{"USD":0.75},
    "parent_job_id":"$j"}]}}
hello b alice
b> job.subscribe #1 {"job_id":"$child"}
b< job.subscribed {"payload":{"current_status":"success",
    "lease":{"tool.call":["web.search"],"cost.budget":["USD:1"]},
    "lease_constraints":{"expires_at":"2099-01-01T00:00:00Z"},"budget":{"USD":0.75},
    "parent_job_id":"$j"}}
# Without a budget there is nothing that could change.
a> job.submit #3 {"agent":"echo","lease_request":{"fs.read":["/a/**"]},
    "lease_constraints":{"expires_at":"2099-01-01T00:00:00.5Z"}}
a< job.accepted {"job_id":"$k"}
a< {"event_seq":9}
agent $k> {"type":"job.result","payload":{}}
agent $k exits 0
a< job.result {"event_seq":10}
restart
hello c alice
c> session.list_jobs #1
c< session.jobs {"payload":{"jobs":[{"job_id":"$j","status":"success",
    "lease":{"cost.budget":["USD:5.00"],"tool.call":["web.*"],"agent.delegate":["*"]},
    "lease_constraints":{"expires_at":"2099-01-01T00:00:00Z"},"budget":{"USD":4.75}},
    {"job_id":"$child","lease":{"tool.call":["web.search"],"cost.budget":["USD:1"]},
    "lease_constraints":{"expires_at":"2099-01-01T00:00:00Z"},"budget":{"USD":0.75},
    "parent_job_id":"$j"},{"job_id":"$k","lease":{"fs.read":["/a/**"]}}]}}
c> job.subscribe #2 {"job_id":"$j"}
c< job.subscribed {"payload":{"current_status":"success",
    "lease":{"cost.budget":["USD:5.00"],"tool.call":["web.*"],"agent.delegate":["*"]},
    "lease_constraints":{"expires_at":"2099-01-01T00:00:00Z"},"budget":{"USD":4.75},
    "parent_job_id":null}}
c> job.subscribe #3 {"job_id":"$k"}
c< job.subscribed {"payload":{"current_status":"success","lease":{"fs.read":["/a/**"]},
    "lease_constraints":{"expires_at":"2099-01-01T00:00:00.5Z"},"budget":"$absent"}}
c< nothing
