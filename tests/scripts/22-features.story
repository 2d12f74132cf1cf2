# §6.2: nothing outside the negotiated features is used by either side.
# [arcp:6.2-4]
a> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"client":{"name":"c","version":"1"},"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["unheard_of"]}}}
a< {"type":"session.welcome","payload":{"capabilities":{"features":[]}}}
a> {"arcp":"1.1","id":"2","type":"session.list_jobs","payload":{}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST","message":"session.list_jobs needs the feature \"list_jobs\", which was not negotiated"}}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"work@1.0.0"}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"work","lease_constraints":{"expires_at":"2030-01-01T00:00:00Z"}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"work","lease_request":{"cost.budget":["USD:1"]}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"work","lease_request":{"model.use":["*"]}}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"7","type":"job.subscribe","payload":{"job_id":"x"}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"8","type":"job.submit","payload":{"agent":"work"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"event_seq":7}
agent $j> {"type":"job.event","payload":{"kind":"progress","body":{"current":1}}}
a< nothing
# Chunks are assembled for a session that cannot have them.
agent $j> {"type":"result.chunk","payload":{"data":"ab","encoding":"utf8","more":true}}
agent $j> {"type":"result.chunk","payload":{"data":"Yw==","encoding":"base64","more":false}}
a< nothing
agent $j> {"type":"job.result","payload":{}}
a< {"type":"job.result","event_seq":8,"payload":{"result":"abc","result_id":"$absent"}}
