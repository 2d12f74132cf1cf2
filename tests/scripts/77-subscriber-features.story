# docs/protocol.md, Events: what a session did not negotiate is not numbered for it: a subscriber gets
# the rest without a gap, in history and live.
# [arcp:6.2-4]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"cost.budget":["USD:2"]}}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j> {"type":"job.event","payload":{"kind":"progress","body":{"current":1}}}
a< {"event_seq":2}
agent $j> three
a< {"event_seq":3}
agent $j> {"type":"job.event","payload":{"kind":"metric",
    "body":{"name":"cost.x","value":1,"unit":"USD"}}}
a< {"event_seq":4,"payload":{"body":{"name":"cost.x"}}}
a< {"event_seq":5,"payload":{"body":{"name":"cost.budget.remaining"}}}
b> session.hello #h {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["subscribe"]}}
b< session.welcome
b> job.subscribe #1 {"job_id":"$j","history":true}
b< job.subscribed
b< {"event_seq":1,"payload":{"kind":"status"}}
b< {"event_seq":2,"payload":{"kind":"log","body":{"message":"three"}}}
b< {"event_seq":3,"payload":{"kind":"metric","body":{"name":"cost.x"}}}
b< nothing
agent $j> {"type":"job.event","payload":{"kind":"progress","body":{"current":2}}}
a< {"event_seq":6}
agent $j> {"type":"result.chunk","payload":{"data":"x","encoding":"utf8","more":false}}
a< {"event_seq":7,"payload":{"kind":"result_chunk"}}
agent $j> eight
a< {"event_seq":8}
b< {"event_seq":4,"payload":{"body":{"message":"eight"}}}
b< nothing
