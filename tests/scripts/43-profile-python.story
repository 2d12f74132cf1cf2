# docs/protocol.md, Peer profiles, `python`: request errors as session.error; `budget` values as
# strings; no job.accepted for children; jobs that were cancelled or timed out end with job.result.
# It has no name of its own: by configuration, here by principal.
profile * bob python
hello a bob
a> job.submit #1 {"agent":"nobody"}
later +1s
a< session.error {"id":"1","event_seq":"$absent",
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"1"}}
a> job.submit #2 {"agent":"echo","idempotency_key":"k",
    "lease_request":{"cost.budget":["USD:5.00","EUR:0.10"],"agent.delegate":["*"]}}
a< job.accepted {"job_id":"$j","payload":{"lease":{"cost.budget":"$_"},
    "budget":{"USD":"USD:5","EUR":"EUR:0.1"}}}
a< job.event {"event_seq":1}
a> session.list_jobs #3
a< session.jobs {"payload":{"jobs":[{"job_id":"$j","budget":{"USD":"USD:5","EUR":"EUR:0.1"}}]}}
a> job.submit #4 {"agent":"echo","idempotency_key":"k",
    "lease_request":{"cost.budget":["USD:5.00","EUR:0.10"],"agent.delegate":["*"]}}
a< job.accepted {"id":"4","job_id":"$j","payload":{"budget":{"USD":"USD:5","EUR":"EUR:0.1"}}}
# Children are not announced: its client takes any job.accepted for the answer to its oldest
# submit. Results have no `output`.
agent $j> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< job.event {"event_seq":2,"job_id":"$j",
    "payload":{"kind":"delegate","body":{"child_job_id":"$child"}}}
a< job.event {"event_seq":3,"job_id":"$child"}
agent $child> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":4,"payload":{"final_status":"success","result":1,"output":"$absent"}}
# A stopped job ends with a job.result; a failed one with a job.error.
a> job.submit #5 {"agent":"echo"}
a< job.accepted {"job_id":"$stopped"}
a< job.event {"event_seq":5}
a> {"arcp":"1.1","id":"6","type":"job.cancel","job_id":"$stopped","payload":{"reason":"enough"}}
a< job.cancelled {"id":"6"}
agent $stopped exits 0
a< job.result {"event_seq":6,"job_id":"$stopped",
    "payload":{"final_status":"cancelled","code":"CANCELLED","completed_at":"$_"}}
a> job.submit #7 {"agent":"echo"}
a< job.accepted {"job_id":"$late"}
a< job.event {"event_seq":7}
agent $late> {"type":"job.error","payload":{"code":"TIMEOUT","message":"too slow"}}
a< job.result {"event_seq":8,"job_id":"$late",
    "payload":{"final_status":"timed_out","code":"TIMEOUT"}}
a> job.submit #8 {"agent":"echo"}
a< job.accepted {"job_id":"$bad"}
a< job.event {"event_seq":9}
agent $bad> {"type":"job.error","payload":{"code":"INVALID_REQUEST","message":"odd"}}
a< job.error {"event_seq":10,"job_id":"$bad",
    "payload":{"final_status":"error","code":"INVALID_REQUEST"}}
# A repeated submit also gets the end of its job again, which the client has forgotten; also after a
# restart, and byte for byte when the session is resumed.
agent $j> {"type":"job.result","payload":{"result":"done"}}
a< job.result {"event_seq":11,"job_id":"$j","payload":{"result":"done"}}
a> job.submit #9 {"agent":"echo","idempotency_key":"k",
    "lease_request":{"cost.budget":["USD:5.00","EUR:0.10"],"agent.delegate":["*"]}}
a< job.accepted {"id":"9","job_id":"$j"}
a< job.result {"event_seq":12,"job_id":"$j","payload":{"result":"done"}}
restart
a> session.hello #r {"client":{"name":"c","version":"1"},"auth":{"scheme":"bearer","token":"t-bob"},
    "capabilities":{"features":["list_jobs"]},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":10}}
a< session.welcome {"session_id":"$session_a"}
a< job.result {"event_seq":11,"job_id":"$j","payload":{"result":"done"}}
a< job.result {"event_seq":12,"job_id":"$j","payload":{"result":"done"}}
a> job.submit #10 {"agent":"echo","idempotency_key":"k",
    "lease_request":{"cost.budget":["USD:5.00","EUR:0.10"],"agent.delegate":["*"]}}
a< job.accepted {"id":"10","job_id":"$j"}
a< job.result {"event_seq":13,"job_id":"$j","payload":{"result":"done"}}
a> session.list_jobs #11 {"filter":{"status":["success"]},"limit":1}
a< session.jobs {"payload":{"jobs":[{"job_id":"$j","last_event_seq":13}]}}
# Another principal, or an observer with another profile, gets its own form.
hello b bob
b> job.subscribe #1 {"job_id":"$j"}
b< job.subscribed {"payload":{"budget":{"USD":"USD:5"}}}
hello c alice
c> job.submit #1 {"agent":"echo","lease_request":{"cost.budget":["USD:5.00"]}}
c< job.accepted {"payload":{"budget":{"USD":5}}}
c< job.event {"event_seq":1}
c> job.submit #2 {"agent":"nobody"}
c< job.error {"id":"2","event_seq":2}
# Each gets the end of a stopped job in its own form.
c> job.submit #3 {"agent":"echo"}
c< job.accepted {"job_id":"$plain"}
c< job.event {"event_seq":3}
agent $plain> {"type":"job.error","payload":{"code":"TIMEOUT","message":"too slow"}}
c< job.error {"event_seq":4,"job_id":"$plain",
    "payload":{"final_status":"timed_out","code":"TIMEOUT"}}
