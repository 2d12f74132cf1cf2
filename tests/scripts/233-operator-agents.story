# docs/protocol.md, The view: x-vendor.arcpd.agents, the room of agents, for roles.
clock +1s
max_jobs 1
hello a alice
hello_role v v-vera
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< {"payload":{"body":{"phase":"running"}}}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$j2"}
a< {"payload":{"body":{"phase":"queued"}}}
v> x-vendor.arcpd.agents #1
v< x-vendor.arcpd.agents.answer {"event_seq":"$absent","payload":{"agents":[
    {"name":"echo","versions":[{"version":"","default":true,"max_jobs":1,"running":1,"queued":1,"workers":"$absent"}],"unconfined":"$absent",
    "ended":{"success":0,"error":0,"cancelled":0,"timed_out":0}},
    {"name":"work","versions":[{"version":"1.0.0","running":0,"queued":0},{"version":"2.0.0"}]}],"next_cursor":null}}
audit< {"event":"operator","decision":"allowed","principal":"vera","rule":"viewer","request":"agents"}
agent $j1> {"type":"job.error","payload":{"code":"INTERNAL_ERROR","message":"no"}}
agent $j1 exits 0
a< job.error {"job_id":"$j1"}
a< {"job_id":"$j2","payload":{"body":{"phase":"running"}}}
# Pages, and what is refused.
v> x-vendor.arcpd.agents #2 {"limit":1}
v< {"payload":{"agents":[{"name":"echo","versions":[{"running":1,"queued":0}],"ended":{"success":0,"error":1}}],"next_cursor":"echo"}}
v> x-vendor.arcpd.agents #3 {"limit":500,"cursor":"echo"}
v< {"payload":{"agents":[{"name":"work"}],"next_cursor":null}}
v> x-vendor.arcpd.agents #4 {"cursor":"gone"}
v< job.error {"payload":{"code":"INVALID_REQUEST","message":"payload.cursor names no agent: ask for the first page"}}
v> x-vendor.arcpd.agents #5 {"limit":501}
v< job.error {"payload":{"code":"INVALID_REQUEST","message":"payload.limit must be from 1 to 500"}}
a> x-vendor.arcpd.agents #3
a< job.error {"payload":{"code":"PERMISSION_DENIED"}}
audit< {"event":"operator","decision":"denied","principal":"alice","rule":"no role","request":"agents"}
