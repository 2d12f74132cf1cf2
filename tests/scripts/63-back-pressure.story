# §6.5, docs/protocol.md, Ack: lag is advice: one back_pressure status per crossing, on the job that
# causes it, to all its observers. Nothing is delayed by it.
# [arcp:6.5-4]
setting session.ack_lag_events 3
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$quiet"}
a< {"event_seq":1}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$loud"}
a< {"event_seq":2}
agent $loud> 3
a< {"event_seq":3}
# Three are unacknowledged: the limit. The fourth exceeds it.
agent $loud> 4
a< {"event_seq":4}
a< {"event_seq":5,"job_id":"$loud",
    "payload":{"kind":"status","body":{"phase":"back_pressure","message":"$_"}}}
# It is sent once, however far the session falls behind, and whichever job adds to it.
agent $loud> 6
a< {"event_seq":6}
agent $quiet> 7
a< {"event_seq":7}
agent $loud> 8
a< {"event_seq":8}
a< nothing
# At the limit the session is still behind; below it, the next crossing is reported again.
a> session.ack #3 {"last_processed_seq":5}
a> session.ping #p3
a< session.pong
agent $loud> 9
a< {"event_seq":9}
a< nothing
a> session.ack #4 {"last_processed_seq":9}
a> session.ping #p4
a< session.pong
agent $quiet> 10
a< {"event_seq":10}
agent $quiet> 11
a< {"event_seq":11}
agent $quiet> 12
a< {"event_seq":12}
agent $quiet> 13
a< {"event_seq":13}
a< {"event_seq":14,"job_id":"$quiet","payload":{"kind":"status","body":{"phase":"back_pressure"}}}
# A client without the feature ack is never reported as behind.
b> session.hello #h {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["subscribe"]}}
b< session.welcome
b> job.submit #1 {"agent":"echo"}
b< job.accepted {"job_id":"$k"}
b< {"event_seq":1}
agent $k> 2
b< {"event_seq":2}
agent $k> 3
b< {"event_seq":3}
agent $k> 4
b< {"event_seq":4}
agent $k> 5
b< {"event_seq":5}
b< nothing
# The lag of a subscriber is not reported either.
hello c alice
c> job.subscribe #1 {"job_id":"$k","history":true}
c< job.subscribed
c< {"event_seq":1}
c< {"event_seq":2}
c< {"event_seq":3}
c< {"event_seq":4}
c< {"event_seq":5}
agent $k> 6
b< {"event_seq":6}
c< {"event_seq":6,"payload":{"kind":"log"}}
c< nothing
b< nothing
