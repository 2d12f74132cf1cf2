# §7.6: unsubscribe ends a subscription, and nothing else; a new subscription repeats no event, and may ask
# for the missed ones.
# [arcp:7.6-13]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
hello b alice
b> job.subscribe #1 {"job_id":"$j"}
b< job.subscribed {"payload":{"subscribed_from":1}}
agent $j> two
a< {"event_seq":2}
b< {"event_seq":1,"payload":{"body":{"message":"two"}}}
b> job.unsubscribe #2 {"job_id":"$j"}
b> session.ping #p
b< session.pong
agent $j> three
a< {"event_seq":3}
b< nothing
# A second unsubscribe is an error: there is no subscription.
b> job.unsubscribe #3 {"job_id":"$j"}
b< job.error {"id":"3","event_seq":2,"payload":{"code":"JOB_NOT_FOUND"}}
b> job.subscribe #4 {"job_id":"$j","history":true,"from_event_seq":2}
b< job.subscribed {"payload":{"subscribed_from":2,"replayed":true}}
b< {"event_seq":3,"payload":{"body":{"message":"three"}}}
agent $j> four
a< {"event_seq":4}
b< {"event_seq":4,"payload":{"body":{"message":"four"}}}
# The submitter cannot unsubscribe from its own job.
a> job.unsubscribe #2 {"job_id":"$j"}
agent $j> five
a< {"event_seq":5,"payload":{"body":{"message":"five"}}}
b< {"event_seq":5}
# A subscription survives a drop and a restart; an ended one is not restored.
hello c alice
c> job.subscribe #1 {"job_id":"$j"}
c< job.subscribed
c> job.unsubscribe #2 {"job_id":"$j"}
c> session.ping #3
c< session.pong
restart
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_b","resume_token":"$resume_b","last_event_seq":5}}
b< session.welcome
b< job.error {"event_seq":6,"job_id":"$j","payload":{"code":"INTERNAL_ERROR","retryable":true}}
c> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_c","resume_token":"$resume_c","last_event_seq":0}}
c< session.welcome
c> session.ping #4
c< session.pong
c< nothing
