# docs/protocol.md, Sessions: before the hello only session.hello and session.resume are served.
a> {"arcp":"1.1","id":"1","type":"session.ping","payload":{}}
a< {"type":"session.error","session_id":"$_","event_seq":"$absent","payload":{"code":"UNAUTHENTICATED","message":"session.ping before session.hello: say hello first","retryable":false}}
a< close 1008
b> {"arcp":"1.1","id":"1","type":"session.close","payload":{}}
b< {"type":"session.error","payload":{"code":"UNAUTHENTICATED"}}
b< close 1008
c> {"arcp":"1.1","id":"1","type":"session.welcome","payload":{}}
c< {"type":"session.error","payload":{"code":"UNAUTHENTICATED"}}
c< close 1008
d> {"arcp":"1.1","id":"1","type":"x-vendor.acme.knock","payload":{}}
d< {"type":"session.error","payload":{"code":"UNAUTHENTICATED"}}
d< close 1008
e> {"arcp":"1.1","id":"1","type":"session.list_jobs","session_id":"sess_other","payload":{}}
e< {"type":"session.error","payload":{"code":"UNAUTHENTICATED"}}
e< close 1008
# A token of the wrong type, an empty scheme, no auth at all: nobody.
f> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"","token":"t-alice"}}}
f< {"type":"session.error","payload":{"code":"UNAUTHENTICATED","message":"auth.scheme must be \"bearer\""}}
f< close 1008
g> {"arcp":"1.1","id":"1","type":"session.hello","payload":{}}
g< {"type":"session.error","payload":{"code":"UNAUTHENTICATED","message":"the token is missing or not valid"}}
g< close 1008
h> {"arcp":"1.1","id":"1","type":"session.resume","payload":{"resume_token":"rt_x","last_event_seq":0}}
h< {"type":"session.error","payload":{"code":"UNAUTHENTICATED","message":"the token is missing or not valid"}}
h< close 1008
audit< {"event":"authentication","decision":"denied","ts":"$_"}
# What is sent behind a hello is served when its sender is known.
i> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["list_jobs"]}}}
i> {"arcp":"1.1","id":"2","type":"session.list_jobs","payload":{}}
i< {"type":"session.welcome","id":"1"}
i< {"type":"session.jobs","id":"2"}
