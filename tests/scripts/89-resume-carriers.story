# §6.3: resume in three carriers: hello.payload.resume, the same members flat in the hello,
# and a session.resume; with the session's id in the payload, in the envelope, or none.
# [arcp:6.3-3]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1,"payload":"$first"}
agent $j> {"type":"job.event","payload":{"kind":"log",
    "body":{"level":"info","message":"é\u0000\"","n":1.50}}}
a< {"event_seq":2,"id":"$id2","payload":"$second"}
drop a
a> session.hello #r1 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
a< session.welcome {"id":"r1","session_id":"$session_a","event_seq":"$absent",
    "payload":{"session_id":"$session_a","request_id":"r1","reply_to":"r1","resume_token":"$t2",
    "resume_window_sec":600,"heartbeat_interval_sec":30}}
a< job.accepted {"job_id":"$j"}
# The replayed frames are those that were sent.
a< {"event_seq":1,"payload":"$first"}
a< {"event_seq":2,"id":"$id2","payload":"$second"}
a< nothing
# Flat.
b> session.hello #r2 {"auth":{"scheme":"bearer","token":"t-alice"},"session_id":"$session_a",
    "resume_token":"$t2","last_event_seq":1}
a< close 1000
b< session.welcome {"id":"r2","session_id":"$session_a","payload":{"resume_token":"$t3"}}
b< {"event_seq":2,"payload":"$second"}
b< nothing
# A separate message; the id in the envelope.
c> {"arcp":"1.1","id":"r3","type":"session.resume","session_id":"$session_a",
    "payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume_token":"$t3",
    "last_event_seq":1}}
b< close 1000
c< session.welcome {"id":"r3","session_id":"$session_a","payload":{"resume_token":"$t4"}}
c< {"event_seq":2,"payload":"$second"}
# The session is found by its token alone.
d> session.hello #r4 {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"resume_token":"$t4","last_event_seq":2}}
c< close 1000
d< session.welcome {"id":"r4","session_id":"$session_a"}
d< nothing
agent $j> three
d< {"event_seq":3}
# The features of the first hello remain: a resume does not negotiate.
d> session.list_jobs #l
d< session.jobs {"payload":{"jobs":[{"job_id":"$j"}]}}
