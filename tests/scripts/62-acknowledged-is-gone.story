# §6.5, §6.3: acknowledged events are freed, and a resume from before them is refused; all later events are
# kept. Unacknowledged events are never freed because of time.
# [arcp:6.3-4] [arcp:6.5-2] [arcp:6.5-3] [arcp:6.5-7] [arcp:7.6-5]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j> two
a< {"event_seq":2}
agent $j> three
a< {"event_seq":3}
agent $j> four
a< {"event_seq":4}
a> session.ack #2 {"last_processed_seq":2}
# A lower or repeated acknowledgement has no effect.
a> session.ack #3 {"last_processed_seq":1}
a> session.ack #4 {"last_processed_seq":2}
a> session.ping #5
a< session.pong {"id":"5"}
drop a
clock +20h
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":1}}
b< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED",
    "message":"events after last_event_seq are no longer kept"}}
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":2}}
b< session.welcome {"session_id":"$session_a","payload":{"resume_token":"$t2"}}
b< {"event_seq":3,"payload":{"body":{"message":"three"}}}
b< {"event_seq":4,"payload":{"body":{"message":"four"}}}
# Acknowledgements of the owner do not affect the history for a subscriber.
hello c alice
c> job.subscribe #1 {"job_id":"$j","history":true}
c< job.subscribed {"payload":{"subscribed_from":0,"replayed":true}}
c< {"event_seq":1,"payload":{"kind":"status"}}
c< {"event_seq":2,"payload":{"body":{"message":"two"}}}
c< {"event_seq":3}
c< {"event_seq":4}
