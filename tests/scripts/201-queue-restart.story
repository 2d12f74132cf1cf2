# Queued jobs outlive a restart (kill -9) in their places; the job that ran ends.
# One shard: with several, jobs of other shards may come first.
max_jobs 1
hello a alice
hello b bob
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< {"payload":{"body":{"phase":"running"}}}
a> job.submit #2 {"agent":"echo","idempotency_key":"k","input":{"a":[1,"x"]},
    "lease_request":{"fs.read":["/srv/**"],"cost.budget":["USD:5"]}}
a< job.accepted {"job_id":"$j2"}
a< {"payload":{"body":{"phase":"queued"}}}
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$j3"}
a< {"payload":{"body":{"phase":"queued"}}}
b> job.submit #1 {"agent":"echo"}
b< job.accepted {"job_id":"$k1"}
b< {"payload":{"body":{"phase":"queued"}}}
restart
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":3}}
a< session.welcome {"session_id":"$session_a"}
a< job.error {"job_id":"$j1","payload":{"code":"INTERNAL_ERROR"}}
a< {"job_id":"$j2","payload":{"body":{"phase":"running"}}}
agent $j2< {"type":"job.start","payload":{"job_id":"$j2","agent":"echo","input":{"a":[1,"x"]},
    "lease":{"fs.read":["/srv/**"],"cost.budget":["USD:5"]},"budget":{"USD":5}}}
a> job.submit #2b {"agent":"echo","idempotency_key":"k","input":{"a":[1,"x"]},
    "lease_request":{"fs.read":["/srv/**"],"cost.budget":["USD:5"]}}
a< job.accepted {"job_id":"$j2"}
agent $j2> {"type":"job.result","payload":{"result":2}}
a< job.result {"job_id":"$j2"}
agent $j2 exits 0
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-bob"},
    "resume":{"session_id":"$session_b","resume_token":"$resume_b","last_event_seq":1}}
b< session.welcome {"session_id":"$session_b"}
b< {"job_id":"$k1","payload":{"body":{"phase":"running"}}}
# A second restart: what has started does not start again.
restart
hello c bob
c> job.subscribe #2 {"job_id":"$k1","history":true}
c< job.subscribed {"payload":{"current_status":"error"}}
c< {"payload":{"body":{"phase":"queued"}}}
c< {"payload":{"body":{"phase":"running"}}}
c< job.error {"payload":{"code":"INTERNAL_ERROR"}}
agent $j3< {"type":"job.start","payload":{"job_id":"$j3","input":null}}
