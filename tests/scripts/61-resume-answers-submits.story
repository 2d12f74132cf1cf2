# docs/protocol.md, Sessions: after the welcome and before the replay comes job.accepted for each of
# the session's own submits of which the client can have seen nothing, in submit order, where the
# session negotiated x-vendor.arcpd.accepted_again.
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j1","payload":"$a1"}
a< {"event_seq":1}
drop a
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":1}}}
a< {"type":"session.welcome","payload":{"resume_token":"$t2"}}
# It saw an event of that one.
a< nothing
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"work"}}
a< {"type":"job.accepted","job_id":"$j2","payload":{"accepted_at":"$w2","agent":"work@1.0.0"}}
a< {"event_seq":2}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","lease_request":{"agent.delegate":["*"]}}}
a< {"type":"job.accepted","job_id":"$j3"}
a< {"event_seq":3}
agent $j3> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< {"type":"job.accepted","payload":{"parent_job_id":"$j3"}}
a< {"event_seq":4}
a< {"event_seq":5}
# A subscription of somebody else's job is no submit of ours.
hello(o, alice)
o> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
o< {"type":"job.accepted","job_id":"$other"}
o< {"event_seq":1}
a> {"arcp":"1.1","id":"4","type":"job.subscribe","payload":{"job_id":"$other","history":true}}
a< {"type":"job.subscribed"}
a< {"event_seq":6,"job_id":"$other"}
drop a
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t2","last_event_seq":1}}}
a< {"type":"session.welcome","payload":{"resume_token":"$t3"}}
a< {"type":"job.accepted","job_id":"$j2","event_seq":"$absent","payload":{"accepted_at":"$w2","agent":"work@1.0.0"}}
a< {"type":"job.accepted","job_id":"$j3","payload":{"lease":{"agent.delegate":["*"]}}}
a< {"event_seq":2,"job_id":"$j2"}
a< {"event_seq":3,"job_id":"$j3"}
a< {"event_seq":4}
a< {"event_seq":5}
a< {"event_seq":6}
a< nothing
