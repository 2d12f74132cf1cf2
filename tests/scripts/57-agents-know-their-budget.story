# An agent gets its remaining budget at its start and in the response to a metric: the smaller of its own
# counters and those of its ancestors.
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"agent.delegate":["**"],
    "cost.budget":["USD:10","EUR:3"]}}
a< job.accepted {"job_id":"$p"}
a< {"payload":{"kind":"status"}}
agent $p< {"type":"job.start","payload":{"budget":{"USD":10,"EUR":3}}}
agent $p> {"type":"job.event","id":"1",
    "payload":{"kind":"metric","body":{"name":"cost.x","value":2.50,"unit":"USD"}}}
a< {"payload":{"body":{"name":"cost.x"}}}
a< {"payload":{"body":{"name":"cost.budget.remaining"}}}
agent $p< {"re":"1","payload":{"budget":{"USD":7.5,"EUR":3}}}
# A child with its own budget and one without: both also see the counters of their ancestors.
agent $p> {"type":"delegate","payload":{"agent":"work","lease_request":{"cost.budget":["USD:5"]}}}
a< job.accepted {"job_id":"$a","payload":{"budget":{"USD":5,"EUR":"$absent"}}}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$a","payload":{"kind":"status"}}
agent $a< {"type":"job.start","payload":{"budget":{"USD":5,"EUR":3}}}
agent $p> {"type":"delegate","payload":{"agent":"work"}}
a< job.accepted {"job_id":"$b","payload":{"budget":"$absent"}}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$b","payload":{"kind":"status"}}
agent $b< {"type":"job.start","payload":{"budget":{"USD":7.5,"EUR":3}}}
agent $b> {"type":"job.event","id":"1",
    "payload":{"kind":"metric","body":{"name":"cost.x","value":6,"unit":"USD"}}}
a< {"job_id":"$b","payload":{"body":{"name":"cost.x"}}}
a< {"job_id":"$p","payload":{"body":{"name":"cost.budget.remaining","value":1.5}}}
agent $b< {"re":"1","payload":{"budget":{"USD":1.5,"EUR":3}}}
# Its own budget of 5 remains, but its parent's is used up.
agent $a> {"type":"job.event","id":"1","payload":{"kind":"metric","body":{"name":"any","value":0}}}
a< {"job_id":"$a","payload":{"body":{"name":"any"}}}
agent $a< {"re":"1","payload":{"budget":{"USD":1.5,"EUR":3}}}
# Without a budget there is no such member.
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$n"}
a< {"job_id":"$n","payload":{"kind":"status"}}
agent $n< {"type":"job.start","payload":{"budget":"$absent"}}
agent $n> {"type":"job.event","id":"1",
    "payload":{"kind":"metric","body":{"name":"cost.x","value":1,"unit":"USD"}}}
a< {"job_id":"$n","payload":{"body":{"name":"cost.x"}}}
agent $n< {"re":"1","payload":{"budget":"$absent"}}
