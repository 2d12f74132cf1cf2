# §6.4: without the feature no pings are sent and no link is considered lost; a ping still gets a pong.
setting session.heartbeat_interval_sec 10
a> session.hello #h {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["list_jobs"]}}
a< session.welcome {"payload":{"heartbeat_interval_sec":"$absent"}}
clock +1h
a< nothing
a> session.ping #1 {"nonce":"x"}
a< session.pong {"payload":{"ping_nonce":"x"}}
a> {"arcp":"1.1","id":"2","type":"session.ping"}
a< session.pong {"id":"2","payload":{"ping_nonce":"$absent"}}
