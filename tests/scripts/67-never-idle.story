# Limits: session.idle_timeout_sec 0 is never.
setting session.idle_timeout_sec 0
a> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["list_jobs"]}}}
a< {"type":"session.welcome"}
clock +1000h
a> {"arcp":"1.1","id":"1","type":"session.list_jobs","payload":{}}
a< {"type":"session.jobs"}
clock +1000h
a< nothing
