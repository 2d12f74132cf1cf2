# §6.1, docs/protocol.md, Sessions: tokens, and what may come before a hello.
# [arcp:6.1-1] [arcp:6.2-2] [arcp:EG-7]
a> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"wrong"}}}
a< {"type":"session.error","session_id":"$_","payload":{"code":"UNAUTHENTICATED","message":"$_","retryable":false}}
a< close 1008
b> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"none"}}}
b< {"type":"session.error","payload":{"code":"UNAUTHENTICATED"}}
b< close 1008
c> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"signed_jwt","token":"t-alice"}}}
c< {"type":"session.error","payload":{"code":"UNAUTHENTICATED","message":"auth.scheme must be \"bearer\""}}
d> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
d< {"type":"session.error","payload":{"code":"UNAUTHENTICATED"}}
d< close 1008
e> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":""}}}
e< {"type":"session.error","payload":{"code":"UNAUTHENTICATED"}}
f> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"client_name":"old","auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"encodings":["cbor"]}}}
f< {"type":"session.error","payload":{"code":"INVALID_REQUEST"}}
g> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"client_name":"old","client_version":"1","auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"encodings":["cbor","json"]}}}
g< {"type":"session.welcome","id":"1","payload":{"request_id":"1","session_id":"$_","runtime":{"name":"rig","version":"1"},"resume_token":"$_","resume_window_sec":600,"heartbeat_interval_sec":"$absent","capabilities":{"encodings":["json"],"features":[],"agents":["echo","work"]}}}
# A second hello is a request error and changes nothing.
g> {"arcp":"1.1","id":"2","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-bob"}}}
g< {"type":"job.error","id":"2","payload":{"code":"INVALID_REQUEST","request_id":"2"}}
g> {"arcp":"1.1","id":"3","type":"session.ping","payload":{"nonce":"p1"}}
g< {"type":"session.pong","payload":{"ping_nonce":"p1","received_at":"$_"}}
# Silence is closed when the hello timeout passes.
h> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"}}}
h< {"type":"session.welcome"}
clock +11s
h> {"arcp":"1.1","id":"2","type":"session.ping","payload":{}}
h< {"type":"session.pong"}
