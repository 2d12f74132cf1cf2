# docs/protocol.md, Peer profiles, `python`: request errors as session.error; `budget` values as
# strings. It has no name of its own: by configuration, here by principal.
profile * bob python
hello(a, bob)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"nobody"}}
a< {"type":"session.error","id":"1","event_seq":"$absent","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"1"}}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k","lease_request":{"cost.budget":["USD:5.00","EUR:0.10"],"agent.delegate":["*"]}}}
a< {"type":"job.accepted","job_id":"$j","payload":{"lease":{"cost.budget":"$_"},"budget":{"USD":"USD:5","EUR":"EUR:0.1"}}}
a< {"type":"job.event","event_seq":1}
a> {"arcp":"1.1","id":"3","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$j","budget":{"USD":"USD:5","EUR":"EUR:0.1"}}]}}
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k","lease_request":{"cost.budget":["USD:5.00","EUR:0.10"],"agent.delegate":["*"]}}}
a< {"type":"job.accepted","id":"4","job_id":"$j","payload":{"budget":{"USD":"USD:5","EUR":"EUR:0.1"}}}
# Children are announced, results have no `output`.
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< {"type":"job.accepted","payload":{"parent_job_id":"$j","job_id":"$child"}}
a< {"type":"job.event","event_seq":2,"payload":{"kind":"delegate"}}
a< {"type":"job.event","event_seq":3,"job_id":"$child"}
# Another principal, or an observer of another kind, is answered in its own form.
hello(b, bob)
b> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j"}}
b< {"type":"job.subscribed","payload":{"budget":{"USD":"USD:5"}}}
hello(c, alice)
c> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","lease_request":{"cost.budget":["USD:5.00"]}}}
c< {"type":"job.accepted","payload":{"budget":{"USD":5}}}
c< {"type":"job.event","event_seq":1}
c> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"nobody"}}
c< {"type":"job.error","id":"2","event_seq":2}
