# docs/protocol.md, The view: what a role does not give, and when it ends.
clock +1s
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< {"event_seq":1}
# A principal without a role is denied each request of roles, even with the feature's name in its hello.
c> session.hello #1 {"client":{"name":"story"},"auth":{"scheme":"bearer","token":"t-carol"},
    "capabilities":{"features":["list_jobs","x-vendor.arcpd.view","x-vendor.arcpd.operate"]}}
c< session.welcome {"payload":{"capabilities":{"features":["list_jobs","x-vendor.arcpd.view"]}}}
c> x-vendor.arcpd.sessions #2
c< job.error {"payload":{"code":"PERMISSION_DENIED"}}
c> x-vendor.arcpd.end_session #3 {"principal":"alice"}
c< job.error {"payload":{"code":"PERMISSION_DENIED"}}
c> x-vendor.arcpd.reload #4
c< job.error {"payload":{"code":"PERMISSION_DENIED"}}
c> x-vendor.arcpd.hooks #6
c< job.error {"payload":{"code":"PERMISSION_DENIED"}}
c> x-vendor.arcpd.drop_notification #7 {"id":"ntf_1"}
c< job.error {"payload":{"code":"PERMISSION_DENIED"}}
c> x-vendor.arcpd.audit #5
c< job.error {"payload":{"code":"PERMISSION_DENIED"}}
audit< {"event":"operator","decision":"denied","principal":"carol","rule":"no role","request":"audit"}
# A viewer reads, and does not reload.
hello_role v v-vera
v> x-vendor.arcpd.reload #1
v< job.error {"payload":{"code":"PERMISSION_DENIED"}}
v> x-vendor.arcpd.audit #2 {"filter":{"principal":"alice","event":"submit"},"before":7,"limit":3}
v< x-vendor.arcpd.audit.answer {"payload":{"lines":[{"request":"audit","principal":"vera",
    "payload":{"filter":{"event":"submit","principal":"alice"},"before":7,"limit":3}}]}}
v> x-vendor.arcpd.audit #3 {"limit":501}
v< job.error {"payload":{"code":"INVALID_REQUEST"}}
v> x-vendor.arcpd.audit #4 {"filter":{"principal":7}}
v< job.error {"payload":{"code":"INVALID_REQUEST"}}
hello_role o o-olga
o> x-vendor.arcpd.reload #1
o< x-vendor.arcpd.reload.answer {"payload":{"request_id":"1","applied":true}}
audit< {"event":"operator","decision":"allowed","principal":"olga","request":"reload"}
# A role does not submit for others, and cancels nothing by job.cancel.
o> job.cancel #2 {"job_id":"$j1"}
o< job.error {"payload":{"code":"JOB_NOT_FOUND"}}
# Each resume reads the role again: what olga was, she is no more.
drop o
connect o
o> session.resume #r {"resume_token":"$resume_o","session_id":"$session_o","last_event_seq":1,
    "auth":{"scheme":"bearer","token":"t-olga"}}
o< session.welcome {"session_id":"$session_o"}
o> x-vendor.arcpd.sessions #3
o< job.error {"payload":{"code":"PERMISSION_DENIED"}}
o> x-vendor.arcpd.reload #4
o< job.error {"payload":{"code":"PERMISSION_DENIED"}}
