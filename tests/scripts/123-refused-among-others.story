# docs/protocol.md, Peer profiles, `python`: its client gives up all that it waits for at a session.error.
# A refused submit is told so only when it waits for nothing else; among others it is a job.accepted
# with a job.error behind it.
profile * bob python
hello(a, bob)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"nobody"}}
later +1s
a< {"type":"session.error","id":"1","event_seq":"$absent","job_id":"$absent","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"1"}}
# Others that it asked together with it come a moment later.
store holds
a> {"arcp":"1.1","id":"b1","type":"job.submit","payload":{"agent":"nobody"}}
a> {"arcp":"1.1","id":"b2","type":"job.submit","payload":{"agent":"echo@@"}}
store writes
a< {"type":"job.accepted","id":"b1","job_id":"$b1"}
a< {"type":"job.accepted","id":"b2","job_id":"$b2"}
a< {"type":"job.error","id":"b1","event_seq":1,"job_id":"$b1","payload":{"code":"AGENT_NOT_AVAILABLE"}}
a< {"type":"job.error","id":"b2","event_seq":2,"job_id":"$b2","payload":{"code":"INVALID_REQUEST"}}
# While a job runs.
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","id":"2","job_id":"$j"}
a< {"type":"job.event","event_seq":3,"job_id":"$j"}
a> {"arcp":"1.1","id":"3","type":"job.submit","trace_id":"0af7651916cd43dd8448eb211c80319c","payload":{"agent":"nobody","lease_request":{"tool.call":["*"]}}}
a< {"type":"job.accepted","id":"3","job_id":"$none","event_seq":"$absent","trace_id":"0af7651916cd43dd8448eb211c80319c","payload":{"request_id":"3","reply_to":"3","job_id":"$none","agent":"nobody","lease":{},"accepted_at":"$_"}}
a< {"type":"job.error","id":"3","event_seq":4,"job_id":"$none","trace_id":"0af7651916cd43dd8448eb211c80319c","payload":{"code":"AGENT_NOT_AVAILABLE","final_status":"error","completed_at":"$_","request_id":"3"}}
# There is no such job: no list has it, and nobody can ask for it.
a> {"arcp":"1.1","id":"4","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$j"}]}}
hello(o, bob)
o> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$none"}}
o< {"type":"session.error","payload":{"code":"JOB_NOT_FOUND"}}
# The same request again gets both again, and is not looked at anew.
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","id":"3","job_id":"$none"}
a< {"type":"job.error","id":"3","event_seq":5,"job_id":"$none","payload":{"code":"AGENT_NOT_AVAILABLE"}}
# Other refusals are a job.error, which the client drops.
a> {"arcp":"1.1","id":"5","type":"job.subscribe","payload":{"job_id":"job_nothing"}}
a< {"type":"job.error","id":"5","event_seq":6,"job_id":"$absent","payload":{"code":"JOB_NOT_FOUND","request_id":"5"}}
a> {"arcp":"1.1","id":"6","type":"session.list_jobs","payload":{"cursor":"zzz"}}
a< {"type":"job.error","id":"6","event_seq":7,"payload":{"code":"INVALID_REQUEST","request_id":"6"}}
a> {"arcp":"1.1","id":"7","type":"job.cancel","payload":{"job_id":"job_nothing"}}
a< {"type":"job.error","id":"7","event_seq":8,"payload":{"code":"JOB_NOT_FOUND"}}
# A resume replays the ends as any other record, not the job.accepted; also after a restart.
restart
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"client":{"name":"c","version":"1"},"auth":{"scheme":"bearer","token":"t-bob"},"capabilities":{"features":["list_jobs","subscribe"]},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":3}}}
a< {"type":"session.welcome","session_id":"$s_a"}
a< {"type":"job.error","id":"3","event_seq":4,"job_id":"$none"}
a< {"type":"job.error","id":"3","event_seq":5,"job_id":"$none"}
a< {"type":"job.error","id":"5","event_seq":6}
a< {"type":"job.error","id":"6","event_seq":7}
a< {"type":"job.error","id":"7","event_seq":8}
a< {"type":"job.error","event_seq":9,"job_id":"$j","payload":{"code":"INTERNAL_ERROR"}}
# When the last job has ended, the session is told directly again.
a> {"arcp":"1.1","id":"8","type":"session.list_jobs","payload":{"cursor":"zzz"}}
a< {"type":"session.error","id":"8","event_seq":"$absent","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"9","type":"job.submit","payload":{"agent":"nobody"}}
later +1s
a< {"type":"session.error","id":"9","payload":{"code":"AGENT_NOT_AVAILABLE"}}
# A subscription is something that it waits for, too.
hello(b, bob)
hello(p, bob)
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.accepted","job_id":"$k"}
p> {"arcp":"1.1","id":"2","type":"job.subscribe","payload":{"job_id":"$k"}}
p< {"type":"job.subscribed","id":"2"}
p> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"nobody"}}
p< {"type":"job.accepted","id":"3","job_id":"$gone"}
p< {"type":"job.error","id":"3","job_id":"$gone","payload":{"code":"AGENT_NOT_AVAILABLE"}}
