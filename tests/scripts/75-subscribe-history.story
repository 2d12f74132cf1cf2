# §7.6: history from the start, from a number of the owner's, or none; the boundary to what
# comes live is exact; each event once; in the subscriber's own numbers.
# [arcp:7.6-2] [arcp:7.6-3] [arcp:7.6-4] [arcp:7.6-5] [arcp:7.6-9]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$x"}
a< {"event_seq":1}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":2,"job_id":"$j"}
agent $x> between
a< {"event_seq":3,"job_id":"$x"}
agent $j> four
a< {"event_seq":4,"job_id":"$j"}
agent $j> five
a< {"event_seq":5,"job_id":"$j"}
# Without history: only what comes.
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j"}}
b< {"type":"job.subscribed","payload":{"subscribed_from":5,"replayed":false}}
b< nothing
# from_event_seq alone asks for no history.
hello(c, alice)
c> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j","from_event_seq":0}}
c< {"type":"job.subscribed","payload":{"replayed":false}}
c< nothing
# From the start, by default and by 0.
hello(d, alice)
d> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j","history":true,"from_event_seq":0}}
d< {"type":"job.subscribed","payload":{"subscribed_from":0,"replayed":true}}
d< {"event_seq":1,"payload":{"kind":"status"}}
d< {"event_seq":2,"payload":{"body":{"message":"four"}}}
d< {"event_seq":3,"payload":{"body":{"message":"five"}}}
# From a number of the owner's that is another job's: what of this one came after it.
hello(e, alice)
e> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j","history":true,"from_event_seq":3}}
e< {"type":"job.subscribed","payload":{"replayed":true}}
e< {"event_seq":1,"payload":{"body":{"message":"four"}}}
e< {"event_seq":2,"payload":{"body":{"message":"five"}}}
# From the tip, and from beyond it: nothing to replay.
hello(f, alice)
f> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j","history":true,"from_event_seq":5}}
f< {"type":"job.subscribed","payload":{"subscribed_from":5,"replayed":false}}
f< nothing
hello(g, alice)
g> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j","history":true,"from_event_seq":999}}
g< {"type":"job.subscribed","payload":{"replayed":false}}
g< nothing
# The next one reaches all, once.
agent $j> six
a< {"event_seq":6,"payload":{"body":{"message":"six"}}}
b< {"event_seq":1,"payload":{"body":{"message":"six"}}}
c< {"event_seq":1,"payload":{"body":{"message":"six"}}}
d< {"event_seq":4,"payload":{"body":{"message":"six"}}}
e< {"event_seq":3,"payload":{"body":{"message":"six"}}}
f< {"event_seq":1,"payload":{"body":{"message":"six"}}}
g< {"event_seq":1,"payload":{"body":{"message":"six"}}}
# A subscriber resumes like anybody, in its own numbers.
drop d
agent $j> {"type":"job.result","payload":{"result":"end"}}
a< {"type":"job.result","event_seq":7}
d> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_d","resume_token":"$t_d","last_event_seq":3}}}
d< {"type":"session.welcome"}
d< {"event_seq":4,"payload":{"body":{"message":"six"}}}
d< {"type":"job.result","event_seq":5}
# A finished job that is kept: history, and its terminal frame.
hello(h, alice)
h> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j","history":true,"from_event_seq":6}}
h< {"type":"job.subscribed","payload":{"current_status":"success","subscribed_from":6,"replayed":true}}
h< {"type":"job.result","event_seq":1,"payload":{"result":"end"}}
h< nothing
# Numbers that are none.
h> {"arcp":"1.1","id":"2","type":"job.subscribe","payload":{"job_id":"$x","history":true,"from_event_seq":-1}}
h< {"type":"job.error","id":"2","payload":{"code":"INVALID_REQUEST"}}
h> {"arcp":"1.1","id":"3","type":"job.subscribe","payload":{"job_id":"$x","history":"yes"}}
h< {"type":"job.error","id":"3","payload":{"code":"INVALID_REQUEST"}}
h> {"arcp":"1.1","id":"4","type":"job.subscribe","payload":{}}
h< {"type":"job.error","id":"4","payload":{"code":"INVALID_REQUEST"}}
