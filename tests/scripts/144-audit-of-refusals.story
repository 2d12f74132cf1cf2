# Refusals are in the audit log too: a cancel of another principal's job or of an unknown one, and a
# resume, with the session that it named.
# [arcp:14-3] [arcp:14-21]
# One shard: with several, a job of another principal is JOB_NOT_FOUND in the log, too.
hello a alice
hello b bob
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< job.event
b> job.cancel #1 {"job_id":"$j","reason":"mine"}
b< job.error {"payload":{"code":"JOB_NOT_FOUND","details":{"job_id":"$j"}}}
audit< {"event":"cancel","decision":"denied","principal":"bob","session_id":"$session_b",
    "job_id":"$j","code":"JOB_NOT_FOUND","owner":"alice"}
b> job.cancel #2 {"job_id":"job_none"}
b< job.error {"payload":{"code":"JOB_NOT_FOUND"}}
audit< {"event":"cancel","decision":"denied","principal":"bob","session_id":"$session_b",
    "job_id":"$absent","target":"job_none","code":"JOB_NOT_FOUND"}
# Bob uses alice's resume token.
drop a
c> session.hello #r {"auth":{"scheme":"bearer","token":"t-bob"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
c< session.error {"payload":{"code":"UNAUTHENTICATED"}}
audit< {"event":"authentication","decision":"denied","principal":"bob","code":"UNAUTHENTICATED",
    "rule":"resume token","request":"session.resume","target":"$session_a"}
# A wrong token with the id of a session.
d> session.hello #r {"auth":{"scheme":"bearer","token":"t-bob"},
    "resume":{"session_id":"sess_gone","resume_token":"nonsense","last_event_seq":0}}
d< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
audit< {"event":"authentication","decision":"denied","principal":"bob",
    "code":"RESUME_WINDOW_EXPIRED","target":"sess_gone"}
# The token alone identifies the session, and is in no line of the log.
e> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"resume_token":"$resume_a","last_event_seq":1000}}
e< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
audit< {"event":"authentication","decision":"denied","principal":"alice",
    "code":"RESUME_WINDOW_EXPIRED","target":"$session_a"}
