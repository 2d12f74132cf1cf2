# §6.4: without the feature nobody is pinged and nobody is lost; a ping is answered still.
setting session.heartbeat_interval_sec 10
a> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["list_jobs"]}}}
a< {"type":"session.welcome","payload":{"heartbeat_interval_sec":"$absent"}}
clock +1h
a< nothing
a> {"arcp":"1.1","id":"1","type":"session.ping","payload":{"nonce":"x"}}
a< {"type":"session.pong","payload":{"ping_nonce":"x"}}
a> {"arcp":"1.1","id":"2","type":"session.ping"}
a< {"type":"session.pong","id":"2","payload":{"ping_nonce":"$absent"}}
