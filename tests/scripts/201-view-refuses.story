# docs/protocol.md, The view: requests that are refused.
hello a alice
a> x-vendor.arcpd.jobs #1 {"filter":{"principal":"*"}}
a< job.error {"payload":{"request_id":"1","code":"PERMISSION_DENIED","retryable":false}}
audit< {"event":"operator","decision":"denied","principal":"alice","rule":"no role","request":"jobs",
    "target":"*","code":"PERMISSION_DENIED"}
a> x-vendor.arcpd.jobs #2 {"filter":{"principal":"bob"}}
a< job.error {"payload":{"code":"PERMISSION_DENIED"}}
a> x-vendor.arcpd.jobs #3 {"limit":501}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> x-vendor.arcpd.jobs #4 {"limit":0}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> x-vendor.arcpd.jobs #5 {"order":"best"}
a< job.error {"payload":{"code":"INVALID_REQUEST","message":"payload.order is \"best\", must be newest or oldest"}}
a> x-vendor.arcpd.jobs #6 {"cursor":"zzz"}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> x-vendor.arcpd.jobs #7 {"filter":{"status":["sleeping"]}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> x-vendor.arcpd.jobs #8 {"filter":{"ended_after":"soon"}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"9","type":"x-vendor.arcpd.jobs","session_id":"sess_x","payload":{}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> x-vendor.arcpd.guess #10
a< job.error {"payload":{"code":"INVALID_REQUEST","message":"there is no request \"x-vendor.arcpd.guess\""}}
# Without the feature a known request is refused, and any other is ignored, like those of other vendors.
hello_as b bob other
b> x-vendor.arcpd.jobs #1
b< job.error {"payload":{"code":"INVALID_REQUEST",
    "message":"x-vendor.arcpd.jobs needs the feature \"x-vendor.arcpd.view\", which was not negotiated"}}
b> x-vendor.arcpd.guess #2
b< nothing
# A feature of roles is not offered to a principal without one.
c> session.hello #1 {"client":{"name":"story"},"auth":{"scheme":"bearer","token":"t-carol"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.operate"]}}
c< session.welcome {"payload":{"capabilities":{"features":["x-vendor.arcpd.view"]}}}
