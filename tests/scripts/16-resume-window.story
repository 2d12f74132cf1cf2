# The window counts from the disconnect, and from the end of the last live job.
hello(a, alice)
drop a
clock +599s
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":0}}}
a< {"type":"session.welcome","session_id":"$s_a","payload":{"resume_token":"$t2"}}
drop a
clock +601s
a> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_a","resume_token":"$t2","last_event_seq":0}}}
a< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED"}}
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.accepted","job_id":"$j"}
drop b
clock +2h
agent $j exits 0
clock +599s
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_b","resume_token":"$t_b","last_event_seq":0}}}
b< {"type":"session.welcome"}
# The answer to a submit is not lost in a drop.
b< {"type":"job.accepted","job_id":"$j"}
b< {"event_seq":1}
b< {"type":"job.result","event_seq":2}
