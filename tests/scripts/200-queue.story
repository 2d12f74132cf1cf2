# Beyond max_jobs jobs are accepted and wait as pending, principals in turn; a job that ends makes
# room for the next one.
# One shard: with several, jobs of other shards may come first.
max_jobs 1
hello a alice
hello b bob
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< {"event_seq":1,"payload":{"body":{"phase":"running"}}}
a> job.submit #2 {"agent":"echo","input":"second"}
a< job.accepted {"job_id":"$j2"}
a< {"event_seq":2,"job_id":"$j2","payload":{"kind":"status","body":{"phase":"queued",
    "message":"place 1 in the queue of the agent"}}}
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$j3"}
a< {"event_seq":3,"payload":{"kind":"status","body":{"phase":"queued",
    "message":"place 2 in the queue of the agent"}}}
b> job.submit #1 {"agent":"echo"}
b< job.accepted {"job_id":"$k1"}
b< {"event_seq":1,"payload":{"kind":"status","body":{"phase":"queued",
    "message":"place 2 in the queue of the agent"}}}
# Another agent has places of its own, and so has another version.
b> job.submit #2 {"agent":"work@1.0.0"}
b< job.accepted {"job_id":"$k2"}
b< {"event_seq":2,"payload":{"body":{"phase":"running"}}}
b> job.submit #3 {"agent":"work@2.0.0"}
b< job.accepted {"job_id":"$k3"}
b< {"event_seq":3,"payload":{"body":{"phase":"running"}}}
a> session.list_jobs #4 {"filter":{"status":["pending"]}}
a< session.jobs {"payload":{"jobs":[{"job_id":"$j2","status":"pending","x-vendor.arcpd.queue_place":1},
    {"job_id":"$j3","status":"pending","x-vendor.arcpd.queue_place":3}]}}
a> job.subscribe #5 {"job_id":"$j3"}
a< job.subscribed {"payload":{"current_status":"pending","x-vendor.arcpd.queue_place":3}}
a> x-vendor.arcpd.job #6 {"job_id":"$j2"}
a< x-vendor.arcpd.job.answer {"payload":{"status":"pending","queue_place":1,"waits_for":"place","input":"second",
    "truncated":"$absent"}}
agent $j1> {"type":"job.result","payload":{"result":1}}
a< job.result {"job_id":"$j1"}
agent $j1 exits 0
a< {"job_id":"$j2","payload":{"body":{"phase":"running"}}}
agent $j2< {"type":"job.start","payload":{"job_id":"$j2","input":"second"}}
agent $j2> {"type":"job.result","payload":{"result":2}}
a< job.result {"job_id":"$j2"}
agent $j2 exits 0
b< {"job_id":"$k1","payload":{"body":{"phase":"running"}}}
agent $k1> {"type":"job.result","payload":{"result":1}}
b< job.result {"job_id":"$k1"}
agent $k1 exits 0
a< {"job_id":"$j3","payload":{"body":{"phase":"running"}}}
