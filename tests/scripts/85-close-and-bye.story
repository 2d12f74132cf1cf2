# §6.7: close is answered and closed, bye is just closed; jobs go on, and the session can be
# resumed within its window.
# [arcp:6.7-1] [arcp:6.7-2]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":1}
a> {"arcp":"1.1","id":"2","type":"session.close","payload":{"reason":"done"}}
a< {"type":"session.closed","id":"2","session_id":"$s_a","event_seq":"$absent","payload":{"request_id":"2","reply_to":"2"}}
a< close 1000
agent $j> one
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":1}}}
a< {"type":"session.welcome","session_id":"$s_a","payload":{"resume_token":"$t2"}}
a< {"event_seq":2,"payload":{"body":{"message":"one"}}}
a> {"arcp":"1.1","id":"3","type":"session.bye","payload":{}}
a< close 1000
agent $j> two
agent $j> {"type":"job.result","payload":{"result":"kept"}}
agent $j exits 0
b> {"arcp":"1.1","id":"r","type":"session.resume","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"session_id":"$s_a","resume_token":"$t2","last_event_seq":2}}
b< {"type":"session.welcome","session_id":"$s_a"}
b< {"event_seq":3,"payload":{"body":{"message":"two"}}}
b< {"type":"job.result","event_seq":4,"payload":{"result":"kept"}}
# Nothing comes between a bye and the close, not even what the agent says meanwhile.
b> {"arcp":"1.1","id":"4","type":"session.bye","payload":{}}
b< nothing
b< close 1000
