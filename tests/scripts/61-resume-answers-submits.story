# docs/protocol.md, Sessions: if x-vendor.arcpd.accepted_again was negotiated, job.accepted is sent between
# the welcome and the replay for each submit of the session of which the client can have received
# nothing, in the order of the submits.
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1","payload":"$a1"}
a< {"event_seq":1}
drop a
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":1}}
a< session.welcome {"payload":{"resume_token":"$t2"}}
# It has received an event of that job.
a< nothing
a> job.submit #2 {"agent":"work"}
a< job.accepted {"job_id":"$j2","payload":{"accepted_at":"$w2","agent":"work@1.0.0"}}
a< {"event_seq":2}
a> job.submit #3 {"agent":"echo","lease_request":{"agent.delegate":["*"]}}
a< job.accepted {"job_id":"$j3"}
a< {"event_seq":3}
agent $j3> {"type":"delegate","id":"d","payload":{"agent":"echo","input":1}}
a< job.accepted {"payload":{"parent_job_id":"$j3"}}
a< {"event_seq":4}
a< {"event_seq":5}
# A subscription to a job of another session is not a submit of this session.
hello o alice
o> job.submit #1 {"agent":"echo"}
o< job.accepted {"job_id":"$other"}
o< {"event_seq":1}
a> job.subscribe #4 {"job_id":"$other","history":true}
a< job.subscribed
a< {"event_seq":6,"job_id":"$other"}
drop a
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t2","last_event_seq":1}}
a< session.welcome {"payload":{"resume_token":"$t3"}}
a< job.accepted {"job_id":"$j2","event_seq":"$absent",
    "payload":{"accepted_at":"$w2","agent":"work@1.0.0"}}
a< job.accepted {"job_id":"$j3","payload":{"lease":{"agent.delegate":["*"]}}}
a< {"event_seq":2,"job_id":"$j2"}
a< {"event_seq":3,"job_id":"$j3"}
a< {"event_seq":4}
a< {"event_seq":5}
a< {"event_seq":6}
a< nothing
