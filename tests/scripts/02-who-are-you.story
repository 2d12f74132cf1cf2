# §6.1, docs/protocol.md, Sessions: tokens, and what may come before a hello.
# [arcp:6.1-1] [arcp:6.2-2] [arcp:EG-7]
a> session.hello #1 {"auth":{"scheme":"bearer","token":"wrong"}}
a< session.error {"session_id":"$_","payload":{"code":"UNAUTHENTICATED","message":"$_",
    "retryable":false}}
a< close 1008
b> session.hello #1 {"auth":{"scheme":"none"}}
b< session.error {"payload":{"code":"UNAUTHENTICATED"}}
b< close 1008
c> session.hello #1 {"auth":{"scheme":"signed_jwt","token":"t-alice"}}
c< session.error {"payload":{"code":"UNAUTHENTICATED","message":"auth.scheme must be \"bearer\""}}
d> job.submit #1 {"agent":"echo"}
d< session.error {"payload":{"code":"UNAUTHENTICATED"}}
d< close 1008
e> session.hello #1 {"auth":{"scheme":"bearer","token":""}}
e< session.error {"payload":{"code":"UNAUTHENTICATED"}}
f> session.hello #1 {"client_name":"old","auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"encodings":["cbor"]}}
f< session.error {"payload":{"code":"INVALID_REQUEST"}}
g> session.hello #1 {"client_name":"old","client_version":"1",
    "auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"encodings":["cbor","json"]}}
g< session.welcome {"id":"1","payload":{"request_id":"1","session_id":"$_",
    "runtime":{"name":"rig","version":"1"},"resume_token":"$_","resume_window_sec":600,
    "heartbeat_interval_sec":"$absent",
    "capabilities":{"encodings":["json"],"features":[],"agents":["echo","work"]}}}
# A second hello is a request error and changes nothing.
g> session.hello #2 {"auth":{"scheme":"bearer","token":"t-bob"}}
g< job.error {"id":"2","payload":{"code":"INVALID_REQUEST","request_id":"2"}}
g> session.ping #3 {"nonce":"p1"}
g< session.pong {"payload":{"ping_nonce":"p1","received_at":"$_"}}
# A silent transport is closed at the hello timeout.
h> session.hello #1 {"auth":{"scheme":"bearer","token":"t-alice"}}
h< session.welcome
clock +11s
h> session.ping #2
h< session.pong
