# docs/protocol.md, The view: what watch needs a role for, and what it writes to the audit log.
clock +1s
hello a alice
a> x-vendor.arcpd.watch #1 {"what":["jobs"],"principal":"*"}
a< job.error {"payload":{"code":"PERMISSION_DENIED","message":"payload.principal needs the role viewer or operator"}}
audit< {"event":"operator","decision":"denied","principal":"alice","rule":"no role","request":"watch","target":"*"}
a> x-vendor.arcpd.watch #2 {"what":["jobs","figures"]}
a< job.error {"payload":{"code":"PERMISSION_DENIED"}}
audit< {"event":"operator","decision":"denied","principal":"alice","request":"watch"}
a> x-vendor.arcpd.figures #3
a< job.error {"payload":{"code":"PERMISSION_DENIED"}}
a> x-vendor.arcpd.watch #4 {"what":["sessions"]}
a< job.error {"payload":{"code":"INVALID_REQUEST","message":"payload.what must have jobs, figures, or both"}}
a> x-vendor.arcpd.watch #5 {"what":["jobs","jobs"]}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> x-vendor.arcpd.watch #6 {"what":[]}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> x-vendor.arcpd.watch #7
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> x-vendor.arcpd.unwatch #8 {"what":["events"]}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
# Its own name needs none.
a> x-vendor.arcpd.watch #9 {"what":["jobs"],"principal":"alice"}
a< x-vendor.arcpd.watch.answer {"payload":{"what":["jobs"]}}
# A role sees the jobs of others, and its watch is one line.
hello_role v v-vera
v> x-vendor.arcpd.watch #1 {"what":["jobs"],"principal":"a*"}
v< x-vendor.arcpd.watch.answer
audit< {"event":"operator","decision":"allowed","principal":"vera","rule":"viewer","request":"watch","target":"a*"}
hello b bob
b> job.submit #1 {"agent":"work"}
b< job.accepted
b< {"event_seq":1}
clock +1s
v< nothing
a> job.submit #10 {"agent":"work"}
a< job.accepted {"job_id":"$j"}
a< job.event
clock +1ms
v< x-vendor.arcpd.changed {"payload":{"jobs":[{"job_id":"$j","principal":"alice","status":"running"}]}}
a< x-vendor.arcpd.changed {"payload":{"jobs":[{"job_id":"$j"}]}}
agent $j> {"type":"job.result","payload":{"result":1}}
a< job.result
clock +250ms
v< x-vendor.arcpd.changed {"payload":{"jobs":[{"job_id":"$j","status":"success"}]}}
a< x-vendor.arcpd.changed {"payload":{"jobs":[{"job_id":"$j","status":"success"}]}}
# Without a name a role watches its own.
v> x-vendor.arcpd.watch #2 {"what":["jobs"]}
v< x-vendor.arcpd.watch.answer {"payload":{"what":["jobs"]}}
a> job.submit #11 {"agent":"work"}
a< job.accepted
a< job.event
clock +1s
a< x-vendor.arcpd.changed
v< nothing
