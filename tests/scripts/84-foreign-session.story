# docs/protocol.md, Envelope: a frame with another session's id is refused and not executed; one
# without any is taken as this session's.
hello a alice
hello b alice
a> {"arcp":"1.1","id":"1","type":"job.submit","session_id":"$session_b","payload":{"agent":"echo"}}
a< job.error {"id":"1","session_id":"$session_a","event_seq":1,
    "payload":{"code":"INVALID_REQUEST","message":"the frame's session_id is not this session's",
    "request_id":"1"}}
a> {"arcp":"1.1","id":"2","type":"session.close","session_id":"$session_b","payload":{}}
a< job.error {"id":"2","event_seq":2,"payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"3","type":"session.ack","session_id":"$session_b",
    "payload":{"last_processed_seq":2}}
a< job.error {"id":"3","event_seq":3,"payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"4","type":"session.ping","session_id":"sess_nobody","payload":{}}
a< job.error {"id":"4","event_seq":4,"payload":{"code":"INVALID_REQUEST"}}
a> session.list_jobs #5
a< session.jobs {"id":"5","payload":{"jobs":[]}}
a> {"arcp":"1.1","id":"6","type":"session.list_jobs","session_id":"$session_a","payload":{}}
a< session.jobs {"id":"6"}
b> session.ping #1
b< session.pong
