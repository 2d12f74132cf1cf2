# Who may not is in the audit log too: a cancel of somebody else's job, or of none, and a resume with
# the session that it aimed at.
# [arcp:14-3] [arcp:14-21]
hello(a, alice)
hello(b, bob)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"type":"job.event"}
b> {"arcp":"1.1","id":"1","type":"job.cancel","payload":{"job_id":"$j","reason":"mine"}}
b< {"type":"job.error","payload":{"code":"JOB_NOT_FOUND","details":{"job_id":"$j"}}}
audit< {"event":"cancel","decision":"denied","principal":"bob","session_id":"$s_b","job_id":"$j","code":"JOB_NOT_FOUND","owner":"alice"}
b> {"arcp":"1.1","id":"2","type":"job.cancel","payload":{"job_id":"job_none"}}
b< {"type":"job.error","payload":{"code":"JOB_NOT_FOUND"}}
audit< {"event":"cancel","decision":"denied","principal":"bob","session_id":"$s_b","job_id":"$absent","target":"job_none","code":"JOB_NOT_FOUND"}
# Alice's token from bob's hand.
drop a
c> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-bob"},"resume":{"session_id":"$s_a","resume_token":"$t_a","last_event_seq":0}}}
c< {"type":"session.error","payload":{"code":"UNAUTHENTICATED"}}
audit< {"event":"authentication","decision":"denied","principal":"bob","code":"UNAUTHENTICATED","rule":"resume token","request":"session.resume","target":"$s_a"}
# A session that a wrong token names.
d> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-bob"},"resume":{"session_id":"sess_gone","resume_token":"nonsense","last_event_seq":0}}}
d< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED"}}
audit< {"event":"authentication","decision":"denied","principal":"bob","code":"RESUME_WINDOW_EXPIRED","target":"sess_gone"}
# The token alone names the session too, and is in no line.
e> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"resume_token":"$t_a","last_event_seq":1000}}}
e< {"type":"session.error","payload":{"code":"RESUME_WINDOW_EXPIRED"}}
audit< {"event":"authentication","decision":"denied","principal":"alice","code":"RESUME_WINDOW_EXPIRED","target":"$s_a"}
