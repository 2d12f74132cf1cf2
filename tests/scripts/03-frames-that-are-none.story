# docs/protocol.md, Envelope: an invalid envelope closes the transport; the session stays resumable.
# [arcp:5-1] [arcp:EG-7]
hello a alice
a> not json
a< session.error {"session_id":"$session_a",
    "payload":{"code":"INVALID_REQUEST",
    "message":"JSON: expected a value (object, array, string, number, true, false or null), found 'n', at byte 0"}}
a< close 1008
hello a alice
a> []
a< session.error {"payload":{"code":"INVALID_REQUEST",
    "message":"a frame must be a JSON object (an envelope)"}}
hello a alice
a> {"arcp":"2.0","id":"x","type":"session.ping"}
a< session.error {"payload":{"code":"INVALID_REQUEST",
    "message":"envelope member \"arcp\" is \"2.0\", must be \"1.1\""}}
hello a alice
a> {"arcp":"1.1","type":"session.ping"}
a< session.error {"payload":{"message":"envelope member \"id\" is missing"}}
hello a alice
a> {"arcp":"1.1","id":"x"}
a< session.error {"payload":{"message":"envelope member \"type\" is missing"}}
hello a alice
a> {"arcp":"1.1","id":"x","id":"y","type":"session.ping"}
a< session.error {"payload":{"code":"INVALID_REQUEST"}}
a< close 1008
# Unknown members are ignored, unknown types of vendors too; others are request errors.
hello a alice
a> {"arcp":"1.1","id":"v","type":"x-vendor.acme.thing","zzz":{}}
a< nothing
a> no.such #u
a< job.error {"id":"u","event_seq":1,"job_id":"$absent",
    "payload":{"code":"INVALID_REQUEST","request_id":"u","final_status":"error"}}
a> job.accepted #w
a< job.error {"event_seq":2,"payload":{"code":"INVALID_REQUEST","request_id":"w"}}
a> {"arcp":"1.1","id":"f","type":"session.list_jobs","session_id":"sess_other","payload":{}}
a< job.error {"event_seq":3,"payload":{"code":"INVALID_REQUEST","request_id":"f"}}
a> {"id":"g","type":"session.ping","payload":{"nonce":7}}
a< session.pong {"payload":{"ping_nonce":7}}
