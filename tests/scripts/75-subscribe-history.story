# §7.6: history from the start, from a number of the owner's, or none; the boundary to what
# comes live is exact; each event once; in the subscriber's own numbers.
# [arcp:7.6-2] [arcp:7.6-3] [arcp:7.6-4] [arcp:7.6-5] [arcp:7.6-9]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$x"}
a< {"event_seq":1}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":2,"job_id":"$j"}
agent $x> between
a< {"event_seq":3,"job_id":"$x"}
agent $j> four
a< {"event_seq":4,"job_id":"$j"}
agent $j> five
a< {"event_seq":5,"job_id":"$j"}
# Without history: only new events.
hello b alice
b> job.subscribe #1 {"job_id":"$j"}
b< job.subscribed {"payload":{"subscribed_from":5,"replayed":false}}
b< nothing
# from_event_seq alone asks for no history.
hello c alice
c> job.subscribe #1 {"job_id":"$j","from_event_seq":0}
c< job.subscribed {"payload":{"replayed":false}}
c< nothing
# From the start, by default and by 0.
hello d alice
d> job.subscribe #1 {"job_id":"$j","history":true,"from_event_seq":0}
d< job.subscribed {"payload":{"subscribed_from":0,"replayed":true}}
d< {"event_seq":1,"payload":{"kind":"status"}}
d< {"event_seq":2,"payload":{"body":{"message":"four"}}}
d< {"event_seq":3,"payload":{"body":{"message":"five"}}}
# From a number in the owner's numbering that belongs to another job: the later events of this job.
hello e alice
e> job.subscribe #1 {"job_id":"$j","history":true,"from_event_seq":3}
e< job.subscribed {"payload":{"replayed":true}}
e< {"event_seq":1,"payload":{"body":{"message":"four"}}}
e< {"event_seq":2,"payload":{"body":{"message":"five"}}}
# From the last number, and from a higher one: nothing to replay.
hello f alice
f> job.subscribe #1 {"job_id":"$j","history":true,"from_event_seq":5}
f< job.subscribed {"payload":{"subscribed_from":5,"replayed":false}}
f< nothing
hello g alice
g> job.subscribe #1 {"job_id":"$j","history":true,"from_event_seq":999}
g< job.subscribed {"payload":{"replayed":false}}
g< nothing
# The next event is sent to all, once.
agent $j> six
a< {"event_seq":6,"payload":{"body":{"message":"six"}}}
b< {"event_seq":1,"payload":{"body":{"message":"six"}}}
c< {"event_seq":1,"payload":{"body":{"message":"six"}}}
d< {"event_seq":4,"payload":{"body":{"message":"six"}}}
e< {"event_seq":3,"payload":{"body":{"message":"six"}}}
f< {"event_seq":1,"payload":{"body":{"message":"six"}}}
g< {"event_seq":1,"payload":{"body":{"message":"six"}}}
# A subscriber resumes like any session, in its own numbering.
drop d
agent $j> {"type":"job.result","payload":{"result":"end"}}
a< job.result {"event_seq":7}
d> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_d","resume_token":"$resume_d","last_event_seq":3}}
d< session.welcome
d< {"event_seq":4,"payload":{"body":{"message":"six"}}}
d< job.result {"event_seq":5}
# A kept job that has ended: history, and its terminal frame.
hello h alice
h> job.subscribe #1 {"job_id":"$j","history":true,"from_event_seq":6}
h< job.subscribed {"payload":{"current_status":"success","subscribed_from":6,"replayed":true}}
h< job.result {"event_seq":1,"payload":{"result":"end"}}
h< nothing
# Invalid numbers.
h> job.subscribe #2 {"job_id":"$x","history":true,"from_event_seq":-1}
h< job.error {"id":"2","payload":{"code":"INVALID_REQUEST"}}
h> job.subscribe #3 {"job_id":"$x","history":"yes"}
h< job.error {"id":"3","payload":{"code":"INVALID_REQUEST"}}
h> job.subscribe #4
h< job.error {"id":"4","payload":{"code":"INVALID_REQUEST"}}
