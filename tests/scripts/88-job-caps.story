# Limits: so many running jobs of a session, and of a principal; what ends makes room.
setting limits.jobs_per_session 2
setting limits.jobs_per_principal 3
hello(a, alice)
hello(b, alice)
hello(c, bob)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j1"}
a< {"event_seq":1}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j2"}
a< {"event_seq":2}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.error","id":"3","event_seq":3,"job_id":"$_","payload":{"code":"INTERNAL_ERROR","retryable":true,"details":{"limit":"limits.jobs_per_session"}}}
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.accepted","job_id":"$j3"}
b< {"event_seq":1}
b> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.error","id":"2","payload":{"code":"INTERNAL_ERROR","retryable":true,"details":{"limit":"limits.jobs_per_principal"}}}
c> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
c< {"type":"job.accepted"}
agent $j1> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result","event_seq":4}
b> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.accepted","id":"3"}
