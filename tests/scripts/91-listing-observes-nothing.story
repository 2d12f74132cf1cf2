# §6.6: a listing subscribes to nothing: who has listed a job sees none of its events, until it
# asks for them.
# [arcp:6.6-7]
hello(a, alice)
hello(b, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
b> {"arcp":"1.1","id":"1","type":"session.list_jobs","payload":{}}
b< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$j","status":"running","last_event_seq":1}]}}
agent $j> two
a< {"event_seq":2}
b< nothing
b> {"arcp":"1.1","id":"2","type":"session.list_jobs","payload":{}}
b< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$j","last_event_seq":2}]}}
b> {"arcp":"1.1","id":"3","type":"job.subscribe","payload":{"job_id":"$j"}}
b< {"type":"job.subscribed","payload":{"job_id":"$j"}}
agent $j> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result","event_seq":3}
# The first number of its session: nothing was sent, nor counted, for the listings.
b< {"type":"job.result","event_seq":1}
