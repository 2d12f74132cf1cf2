# docs/protocol.md, The view: figures, asked for and watched.
hello_role v v-vera
v> x-vendor.arcpd.figures #1
v< x-vendor.arcpd.figures.answer {"payload":{"range":"1h","step_sec":1,"points":0,"begun":[],"ended":{"success":[]},"denials":{},"spend":{}}}
audit< {"event":"operator","decision":"allowed","principal":"vera","request":"figures"}
v> x-vendor.arcpd.figures #2 {"range":"2h"}
v< job.error {"payload":{"code":"INVALID_REQUEST","message":"payload.range must be 1h or 24h"}}
a> session.hello #1 {"client":{"name":"story"},"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["cost.budget"]}}
a< session.welcome
a> job.submit #2 {"agent":"work","lease_request":{"fs.read":["/in/**"],"cost.budget":["USD:5"]}}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j> {"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.x","value":0.00025,"unit":"USD"}}}
a< {"event_seq":2}
a< {"event_seq":3}
agent $j> {"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/else"}}
clock +1s
a> job.submit #3 {"agent":"none"}
a< job.error {"event_seq":4}
agent $j> {"type":"job.result","payload":{"result":1}}
a< job.result
# Nothing happens in the third second.
clock +2s
v> x-vendor.arcpd.figures #3 {"range":"1h"}
v< x-vendor.arcpd.figures.answer {"payload":{"points":3,"step_sec":1,"begun":[1,0,0],
    "ended":{"success":[0,1,0],"error":[0,0,0],"cancelled":[0,0,0],"timed_out":[0,0,0]},"running":[1,0,0],"queued":[0,0,0],
    "events":[3,1,0],"submits_refused":[0,1,0],"sessions":[2,2,2],"memory_bytes":"$absent","commit_p50_us":[0,0,0],
    "commit_p99_us":[0,0,0],"store_queue_bytes":"$array","denials":{"fs.read":[1,0,0],"net.fetch":"$absent"},
    "spend":{"USD":[0.00025,0,0]},"from":"$since","since":"$since","store_failing":false,"audit_failing":false,
    "enforcement":"$absent"}}
# Minutes are counted beside the seconds.
clock +57s
v> x-vendor.arcpd.figures #4 {"range":"24h"}
v< x-vendor.arcpd.figures.answer {"payload":{"range":"24h","step_sec":60,"points":1,"begun":[1],"ended":{"success":[1]},"running":[0],
    "spend":{"USD":[0.00025]}}}
# Each second to those who watch.
v> x-vendor.arcpd.watch #5 {"what":["figures"]}
v< x-vendor.arcpd.watch.answer {"payload":{"what":["figures"]}}
audit< {"event":"operator","decision":"allowed","principal":"vera","request":"watch"}
a> job.submit #4 {"agent":"work"}
a< job.accepted
a< {"event_seq":6}
clock +999ms
v< nothing
clock +1ms
v< x-vendor.arcpd.figures {"event_seq":"$absent","payload":{"at":"$string","begun":1,"ended":{"success":0},"running":1,"queued":0,"events":1,
    "denials":{},"spend":{"USD":0},"sessions":2,"store_failing":false}}
clock +1s
v< x-vendor.arcpd.figures {"payload":{"begun":0,"running":1,"events":0}}
# Both watches at once; one ends.
v> x-vendor.arcpd.watch #6 {"what":["jobs"]}
v< x-vendor.arcpd.watch.answer {"payload":{"what":["jobs","figures"]}}
v> x-vendor.arcpd.unwatch #7 {"what":["figures"]}
v< x-vendor.arcpd.unwatch.answer {"payload":{"what":["jobs"]}}
clock +3s
v< nothing
# What sandboxes of the host enforce now, where the runtime knows that.
host confines
v> x-vendor.arcpd.figures #71
v< x-vendor.arcpd.figures.answer {"payload":{"enforcement":"full"}}
host is unavailable
v> x-vendor.arcpd.figures #72
v< x-vendor.arcpd.figures.answer {"payload":{"enforcement":"none"}}
# After an hour without anything the gauges still say what there is.
clock +2h
v> x-vendor.arcpd.ping #8
v< job.error
