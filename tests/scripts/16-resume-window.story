# The window counts from the disconnect, and from the end of the last live job.
hello a alice
drop a
clock +599s
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
a< session.welcome {"session_id":"$session_a","payload":{"resume_token":"$t2"}}
drop a
clock +601s
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t2","last_event_seq":0}}
a< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
hello b alice
b> job.submit #1 {"agent":"echo"}
b< job.accepted {"job_id":"$j"}
drop b
clock +2h
agent $j exits 0
clock +599s
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_b","resume_token":"$resume_b","last_event_seq":0}}
b< session.welcome
# The response to a submit is not lost with a connection.
b< job.accepted {"job_id":"$j"}
b< {"event_seq":1}
b< job.result {"event_seq":2}
