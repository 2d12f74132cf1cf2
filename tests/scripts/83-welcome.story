# §6.2: the welcome names what both sides speak, and nothing else.
# [arcp:6.2-1] [arcp:6.2-2] [arcp:6.2-3]
a> {"arcp":"1.1","id":"h1","type":"session.hello","payload":{"client":{"name":"c","version":"1"},"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"encodings":["json"],"features":["agent_versions","heartbeat","made_up","x-vendor.acme.more"]}}}
a< {"type":"session.welcome","id":"h1","session_id":"$s","event_seq":"$absent","payload":{"session_id":"$s","accepted_at":"$_","request_id":"h1","reply_to":"h1","runtime":{"name":"$_","version":"$_"},"resume_token":"$_","resume_window_sec":600,"heartbeat_interval_sec":30,"capabilities":{"encodings":["json"],"features":["heartbeat","agent_versions"],"agents":[{"name":"echo"},{"name":"work","versions":["1.0.0","2.0.0"],"default":"1.0.0"}]}}}
# Without agent_versions: names. Without heartbeat: no interval.
b> {"arcp":"1.1","id":"h2","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["ack"]}}}
b< {"type":"session.welcome","id":"h2","payload":{"heartbeat_interval_sec":"$absent","capabilities":{"features":["ack"],"agents":["echo","work"]}}}
# No capabilities at all, and features that are no list: nothing is negotiated.
c> {"arcp":"1.1","id":"h3","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"}}}
c< {"type":"session.welcome","payload":{"capabilities":{"features":[]}}}
# What needs a feature that was not negotiated is refused by its name.
c> {"arcp":"1.1","id":"1","type":"session.ack","payload":{"last_processed_seq":0}}
c< {"type":"job.error","id":"1","payload":{"code":"INVALID_REQUEST","message":"session.ack needs the feature \"ack\", which was not negotiated"}}
c> {"arcp":"1.1","id":"2","type":"job.unsubscribe","payload":{"job_id":"job_x"}}
c< {"type":"job.error","id":"2","payload":{"code":"INVALID_REQUEST","message":"job.unsubscribe needs the feature \"subscribe\", which was not negotiated"}}
# A second hello, or a resume, changes nothing: not even who it is.
c> {"arcp":"1.1","id":"3","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-bob"},"capabilities":{"features":["list_jobs"]}}}
c< {"type":"job.error","id":"3","session_id":"$s_c","payload":{"code":"INVALID_REQUEST","request_id":"3"}}
c> {"arcp":"1.1","id":"4","type":"session.resume","payload":{"auth":{"scheme":"bearer","token":"t-bob"},"resume_token":"rt_x","last_event_seq":0}}
c< {"type":"job.error","id":"4","session_id":"$s_c","payload":{"code":"INVALID_REQUEST"}}
c> {"arcp":"1.1","id":"5","type":"session.list_jobs","payload":{}}
c< {"type":"job.error","id":"5","payload":{"code":"INVALID_REQUEST"}}
c> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"echo"}}
c< {"type":"job.accepted","job_id":"$j","session_id":"$s_c"}
hello(d, alice)
d> {"arcp":"1.1","id":"1","type":"session.list_jobs","payload":{}}
d< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$j"}]}}
