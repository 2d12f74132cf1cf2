# §6.2: the welcome has the features of both sides, and no others.
# [arcp:6.2-1] [arcp:6.2-2] [arcp:6.2-3]
a> session.hello #h1 {"client":{"name":"c","version":"1"},
    "auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"encodings":["json"],
    "features":["agent_versions","heartbeat","made_up","x-vendor.acme.more"]}}
a< session.welcome {"id":"h1","session_id":"$s","event_seq":"$absent",
    "payload":{"session_id":"$s","accepted_at":"$_","request_id":"h1","reply_to":"h1",
    "runtime":{"name":"$_","version":"$_"},"resume_token":"$_","resume_window_sec":600,
    "heartbeat_interval_sec":30,
    "capabilities":{"encodings":["json"],"features":["heartbeat","agent_versions"],
    "agents":[{"name":"echo"},{"name":"work","versions":["1.0.0","2.0.0"],"default":"1.0.0"}]}}}
# Without agent_versions: names. Without heartbeat: no interval.
b> session.hello #h2 {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["ack"]}}
b< session.welcome {"id":"h2","payload":{"heartbeat_interval_sec":"$absent",
    "capabilities":{"features":["ack"],"agents":["echo","work"]}}}
# Without capabilities, and if features is not a list, nothing is negotiated.
c> session.hello #h3 {"auth":{"scheme":"bearer","token":"t-alice"}}
c< session.welcome {"payload":{"capabilities":{"features":[]}}}
# A request that needs a feature that was not negotiated is refused with the name of the feature.
c> session.ack #1 {"last_processed_seq":0}
c< job.error {"id":"1","payload":{"code":"INVALID_REQUEST",
    "message":"session.ack needs the feature \"ack\", which was not negotiated"}}
c> job.unsubscribe #2 {"job_id":"job_x"}
c< job.error {"id":"2","payload":{"code":"INVALID_REQUEST",
    "message":"job.unsubscribe needs the feature \"subscribe\", which was not negotiated"}}
# A second hello, or a resume, changes nothing, not even the principal.
c> session.hello #3 {"auth":{"scheme":"bearer","token":"t-bob"},
    "capabilities":{"features":["list_jobs"]}}
c< job.error {"id":"3","session_id":"$session_c",
    "payload":{"code":"INVALID_REQUEST","request_id":"3"}}
c> session.resume #4 {"auth":{"scheme":"bearer","token":"t-bob"},"resume_token":"rt_x",
    "last_event_seq":0}
c< job.error {"id":"4","session_id":"$session_c","payload":{"code":"INVALID_REQUEST"}}
c> session.list_jobs #5
c< job.error {"id":"5","payload":{"code":"INVALID_REQUEST"}}
c> job.submit #6 {"agent":"echo"}
c< job.accepted {"job_id":"$j","session_id":"$session_c"}
hello d alice
d> session.list_jobs #1
d< session.jobs {"payload":{"jobs":[{"job_id":"$j"}]}}
