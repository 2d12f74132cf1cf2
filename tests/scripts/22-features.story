# §6.2: nothing outside the negotiated features is used by either side.
# [arcp:6.2-4]
a> session.hello #1 {"client":{"name":"c","version":"1"},
    "auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["unheard_of"]}}
a< session.welcome {"payload":{"capabilities":{"features":[]}}}
a> session.list_jobs #2
a< job.error {"payload":{"code":"INVALID_REQUEST",
    "message":"session.list_jobs needs the feature \"list_jobs\", which was not negotiated"}}
a> job.submit #3 {"agent":"work@1.0.0"}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.submit #4 {"agent":"work","lease_constraints":{"expires_at":"2030-01-01T00:00:00Z"}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.submit #5 {"agent":"work","lease_request":{"cost.budget":["USD:1"]}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.submit #6 {"agent":"work","lease_request":{"model.use":["*"]}}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.subscribe #7 {"job_id":"x"}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.submit #8 {"agent":"work"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":7}
agent $j> {"type":"job.event","payload":{"kind":"progress","body":{"current":1}}}
a< nothing
# Chunks are assembled for a session without the feature.
agent $j> {"type":"result.chunk","payload":{"data":"ab","encoding":"utf8","more":true}}
agent $j> {"type":"result.chunk","payload":{"data":"Yw==","encoding":"base64","more":false}}
a< nothing
agent $j> {"type":"job.result","payload":{}}
a< job.result {"event_seq":8,"payload":{"result":"abc","result_id":"$absent"}}
