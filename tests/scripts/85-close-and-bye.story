# §6.7: close is answered and closed, bye is just closed; jobs go on, and the session can be
# resumed within its window.
# [arcp:6.7-1] [arcp:6.7-2]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
a> session.close #2 {"reason":"done"}
a< session.closed {"id":"2","session_id":"$session_a","event_seq":"$absent",
    "payload":{"request_id":"2","reply_to":"2"}}
a< close 1000
agent $j> one
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":1}}
a< session.welcome {"session_id":"$session_a","payload":{"resume_token":"$t2"}}
a< {"event_seq":2,"payload":{"body":{"message":"one"}}}
a> session.bye #3
a< close 1000
agent $j> two
agent $j> {"type":"job.result","payload":{"result":"kept"}}
agent $j exits 0
b> session.resume #r {"auth":{"scheme":"bearer","token":"t-alice"},"session_id":"$session_a",
    "resume_token":"$t2","last_event_seq":2}
b< session.welcome {"session_id":"$session_a"}
b< {"event_seq":3,"payload":{"body":{"message":"two"}}}
b< job.result {"event_seq":4,"payload":{"result":"kept"}}
# Nothing is sent between a bye and the close, not even events of the agent.
b> session.bye #4
b< nothing
b< close 1000
