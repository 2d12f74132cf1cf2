# §6.5: acknowledgements free, never go back, and cannot be ahead.
# [arcp:6.5-6]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
a> {"arcp":"1.1","id":"2","type":"session.ack","payload":{"last_processed_seq":1}}
a< nothing
a> {"arcp":"1.1","id":"3","type":"session.ack","payload":{"last_processed_seq":0}}
a< nothing
a> {"arcp":"1.1","id":"4","type":"session.ack","payload":{"last_processed_seq":2}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST","request_id":"4"}}
a> {"arcp":"1.1","id":"5","type":"session.ack","payload":{"last_processed_seq":1.5}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"6","type":"session.ack","payload":{}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
