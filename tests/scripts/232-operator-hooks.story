# docs/protocol.md, The view: x-vendor.arcpd.hooks for roles, and what operators decide about a notification.
clock +1s
hello a alice
hello_role v v-vera
hello_role o o-olga
v> x-vendor.arcpd.hooks #1
v< x-vendor.arcpd.hooks.answer {"event_seq":"$absent","payload":{"request_id":"1","notifications":[],"next_cursor":null}}
audit< {"event":"operator","decision":"allowed","principal":"vera","rule":"viewer","request":"hooks"}
v> x-vendor.arcpd.hooks #2 {"limit":501}
v< job.error {"payload":{"code":"INVALID_REQUEST","message":"payload.limit must be from 1 to 500"}}
v> x-vendor.arcpd.hooks #3 {"cursor":"01234567890123456789012345678901"}
v< job.error {"payload":{"code":"INVALID_REQUEST","message":"payload.cursor is not that of a page"}}
# A viewer decides nothing.
v> x-vendor.arcpd.drop_notification #4 {"id":"ntf_1"}
v< job.error {"payload":{"code":"PERMISSION_DENIED",
    "message":"x-vendor.arcpd.drop_notification needs the role operator"}}
audit< {"event":"operator","decision":"denied","principal":"vera","request":"drop_notification"}
v> x-vendor.arcpd.retry_notification #5 {"id":"ntf_1"}
v< job.error {"payload":{"code":"PERMISSION_DENIED"}}
o> x-vendor.arcpd.retry_notification #1 {"id":"ntf_1"}
o< job.error {"payload":{"code":"INVALID_REQUEST",
    "message":"there is no notification \"ntf_1\" (it may have been delivered)"}}
o> x-vendor.arcpd.drop_notification #2 {}
o< job.error {"payload":{"code":"INVALID_REQUEST"}}
