# §7.6: job.subscribed is the authority descriptor: lease, constraints, what is left of the
# budget, parent, trace, status; for a child as for its parent.
# [arcp:7.6-6] [arcp:7.6-7]
hello a alice
a> {"arcp":"1.1","id":"1","type":"job.submit","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",
    "payload":{"agent":"work@2.0.0",
    "lease_request":{"cost.budget":["USD:5.00"],"tool.call":["web.*"],"agent.delegate":["*"]},
    "lease_constraints":{"expires_at":"2099-01-01T00:00:00Z"}}}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.llm","value":1.25,"unit":"USD"}}}
a< {"event_seq":2}
a< {"event_seq":3,"payload":{"kind":"metric","body":{"name":"cost.budget.remaining","value":3.75}}}
agent $j> {"type":"delegate","id":"d",
    "payload":{"agent":"echo","input":1,
    "lease_request":{"tool.call":["web.search"],"cost.budget":["USD:1"]}}}
a< job.accepted {"job_id":"$child","payload":{"parent_job_id":"$j"}}
a< {"event_seq":4}
a< {"event_seq":5,"job_id":"$child"}
hello b alice
b> job.subscribe #1 {"job_id":"$j"}
b< job.subscribed {"id":"1","job_id":"$j","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",
    "payload":{"request_id":"1","reply_to":"1","job_id":"$j","current_status":"running",
    "agent":"work@2.0.0","lease":{"cost.budget":["USD:5.00"],"tool.call":["web.*"],
    "agent.delegate":["*"]},"lease_constraints":{"expires_at":"$_"},"budget":{"USD":3.75},
    "parent_job_id":null,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","replayed":false,
    "credentials":"$absent"}}
b> job.subscribe #2 {"job_id":"$child","history":true}
b< job.subscribed {"id":"2","job_id":"$child",
    "payload":{"agent":"echo","lease":{"tool.call":["web.search"],"cost.budget":["USD:1"]},
    "lease_constraints":{"expires_at":"$_"},"budget":{"USD":1},"parent_job_id":"$j",
    "trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","replayed":true}}
b< {"event_seq":1,"job_id":"$child"}
# Without a budget or constraints there are no such members.
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$k"}
a< {"event_seq":6}
agent $k> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":7}
b> job.subscribe #3 {"job_id":"$k"}
b< job.subscribed {"id":"3","payload":{"current_status":"success","lease":{},
    "lease_constraints":"$absent","budget":"$absent","parent_job_id":null,"replayed":false}}
b< nothing
