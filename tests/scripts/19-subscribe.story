# §7.6: the authority descriptor first, then history, then live, in the subscriber's numbers.
# [arcp:7.6-1] [arcp:7.6-9]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","lease_request":{"cost.budget":["USD:2"]}}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
agent $j> one
agent $j> two
a< {"event_seq":2}
a< {"event_seq":3}
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j","history":true,"from_event_seq":2}}
b< {"type":"job.subscribed","id":"1","job_id":"$j","payload":{"job_id":"$j","current_status":"running","agent":"echo","lease":{"cost.budget":["USD:2"]},"budget":{"USD":2},"parent_job_id":null,"trace_id":"$_","subscribed_from":2,"replayed":true}}
b< {"event_seq":1,"job_id":"$j","session_id":"$s_b","payload":{"body":{"message":"two"}}}
agent $j> three
a< {"event_seq":4}
b< {"event_seq":2,"payload":{"body":{"message":"three"}}}
# Again: each event still once.
b> {"arcp":"1.1","id":"2","type":"job.subscribe","payload":{"job_id":"$j","history":true}}
b< {"type":"job.subscribed","payload":{"replayed":false}}
b< nothing
b> {"arcp":"1.1","id":"3","type":"job.cancel","payload":{"job_id":"$j"}}
b< {"type":"job.error","event_seq":3,"payload":{"code":"PERMISSION_DENIED"}}
b> {"arcp":"1.1","id":"4","type":"job.unsubscribe","payload":{"job_id":"$j"}}
agent $j> four
a< {"event_seq":5}
b< nothing
hello(c, carol)
c> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j"}}
c< {"type":"job.error","payload":{"code":"PERMISSION_DENIED","details":{"job_id":"$j"}}}
c> {"arcp":"1.1","id":"2","type":"session.list_jobs","payload":{}}
c< {"type":"session.jobs","payload":{"jobs":[]}}
c> {"arcp":"1.1","id":"3","type":"job.subscribe","payload":{"job_id":"job_nothing"}}
c< {"type":"job.error","payload":{"code":"JOB_NOT_FOUND"}}
