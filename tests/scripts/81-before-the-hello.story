# docs/protocol.md, Sessions: before the hello only session.hello and session.resume are served.
a> session.ping #1
a< session.error {"session_id":"$_","event_seq":"$absent",
    "payload":{"code":"UNAUTHENTICATED",
    "message":"session.ping arrived before session.hello","retryable":false}}
a< close 1008
b> session.close #1
b< session.error {"payload":{"code":"UNAUTHENTICATED"}}
b< close 1008
c> session.welcome #1
c< session.error {"payload":{"code":"UNAUTHENTICATED"}}
c< close 1008
d> x-vendor.acme.knock #1
d< session.error {"payload":{"code":"UNAUTHENTICATED"}}
d< close 1008
e> {"arcp":"1.1","id":"1","type":"session.list_jobs","session_id":"sess_other","payload":{}}
e< session.error {"payload":{"code":"UNAUTHENTICATED"}}
e< close 1008
# A token of the wrong type, an empty scheme, and no auth at all are not authenticated.
f> session.hello #1 {"auth":{"scheme":"","token":"t-alice"}}
f< session.error {"payload":{"code":"UNAUTHENTICATED","message":"auth.scheme must be \"bearer\""}}
f< close 1008
g> session.hello #1
g< session.error {"payload":{"code":"UNAUTHENTICATED",
    "message":"the token is missing or not valid"}}
g< close 1008
h> session.resume #1 {"resume_token":"rt_x","last_event_seq":0}
h< session.error {"payload":{"code":"UNAUTHENTICATED",
    "message":"the token is missing or not valid"}}
h< close 1008
audit< {"event":"authentication","decision":"denied","ts":"$_"}
# Frames sent after a hello are handled when its sender is authenticated.
i> session.hello #1 {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["list_jobs"]}}
i> session.list_jobs #2
i< session.welcome {"id":"1"}
i< session.jobs {"id":"2"}
