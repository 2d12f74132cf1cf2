# docs/protocol.md, Subscribe: authorization.subscribe: any lets everybody observe, and no more.
# [arcp:7.6-14] [arcp:14-2] [arcp:14-3] [arcp:14-21]
setting authorization.subscribe any
hello(a, alice)
hello(b, bob)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
b> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j","history":true}}
b< {"type":"job.subscribed","job_id":"$j","payload":{"current_status":"running","replayed":true,"subscribed_from":0}}
b< {"event_seq":1,"session_id":"$s_b","payload":{"kind":"status"}}
audit< {"event":"subscribe","principal":"bob","job_id":"$j","owner":"alice","decision":"allowed","rule":"authorization.subscribe: any"}
# Observing is not owning.
b> {"arcp":"1.1","id":"2","type":"job.cancel","payload":{"job_id":"$j"}}
b< {"type":"job.error","event_seq":2,"payload":{"code":"PERMISSION_DENIED"}}
b> {"arcp":"1.1","id":"3","type":"session.list_jobs","payload":{}}
b< {"type":"session.jobs","payload":{"jobs":[]}}
agent $j> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result","event_seq":2}
b< {"type":"job.result","event_seq":3}
