# §6.5: an acknowledged end is not sent again after a restart; an unacknowledged one is.
hello a alice
a> job.submit #1 {"agent":"echo","idempotency_key":"k1"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$k"}
a< {"event_seq":2}
# The start of the first job is acknowledged while it runs, and its end after it has ended.
a> session.ack #3 {"last_processed_seq":1}
agent $j> {"type":"job.result","payload":{"result":"one"}}
a< job.result {"event_seq":3}
a> job.submit #4 {"agent":"echo"}
a< job.accepted {"job_id":"$l"}
a< {"event_seq":4}
a> session.ack #5 {"last_processed_seq":3}
agent $k> {"type":"job.result","payload":{"result":"two"}}
a< job.result {"event_seq":5}
agent $l> {"type":"job.result","payload":{"result":"three"}}
a< job.result {"event_seq":6}
restart
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":4}}
a< session.welcome {"session_id":"$session_a","payload":{"resume_token":"$t2"}}
a< job.result {"event_seq":5,"job_id":"$k","payload":{"result":"two"}}
a< job.result {"event_seq":6,"job_id":"$l","payload":{"result":"three"}}
a< nothing
a> session.ack #6 {"last_processed_seq":6}
a> job.submit #7 {"agent":"echo","idempotency_key":"k1"}
a< job.accepted {"job_id":"$j"}
a> job.submit #8 {"agent":"echo"}
a< job.accepted {"job_id":"$m"}
a< {"event_seq":7}
# Again, after all three were removed from the index.
a> session.ack #9 {"last_processed_seq":7}
restart
a> session.hello #r2 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t2","last_event_seq":7}}
a< session.welcome {"session_id":"$session_a"}
a< job.error {"event_seq":8,"job_id":"$m","payload":{"code":"INTERNAL_ERROR"}}
a< nothing
# A session that has received nothing gets everything.
hello b alice
b> job.subscribe #1 {"job_id":"$j","history":true}
b< job.subscribed {"payload":{"current_status":"success","replayed":true}}
b< {"event_seq":1,"payload":{"kind":"status"}}
b< job.result {"event_seq":2,"payload":{"result":"one"}}
b< nothing
