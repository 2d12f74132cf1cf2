# docs/protocol.md, Peer profiles, `python`: at a session.error its client gives up all waiting requests. A
# submit is refused with one only if nothing else is waiting; otherwise it gets a job.accepted followed by
# a job.error.
profile * bob python
hello a bob
a> job.submit #1 {"agent":"nobody"}
later +1s
a< session.error {"id":"1","event_seq":"$absent","job_id":"$absent",
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"1"}}
# Other requests sent together with it arrive a moment later.
store holds
a> job.submit #b1 {"agent":"nobody"}
a> job.submit #b2 {"agent":"echo@@"}
store writes
a< job.accepted {"id":"b1","job_id":"$b1"}
a< job.accepted {"id":"b2","job_id":"$b2"}
a< job.error {"id":"b1","event_seq":1,"job_id":"$b1","payload":{"code":"AGENT_NOT_AVAILABLE"}}
a< job.error {"id":"b2","event_seq":2,"job_id":"$b2","payload":{"code":"INVALID_REQUEST"}}
# While a job runs.
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"id":"2","job_id":"$j"}
a< job.event {"event_seq":3,"job_id":"$j"}
a> {"arcp":"1.1","id":"3","type":"job.submit","trace_id":"0af7651916cd43dd8448eb211c80319c",
    "payload":{"agent":"nobody","lease_request":{"tool.call":["*"]}}}
a< job.accepted {"id":"3","job_id":"$none","event_seq":"$absent",
    "trace_id":"0af7651916cd43dd8448eb211c80319c",
    "payload":{"request_id":"3","reply_to":"3","job_id":"$none","agent":"nobody","lease":{},
    "accepted_at":"$_"}}
a< job.error {"id":"3","event_seq":4,"job_id":"$none","trace_id":"0af7651916cd43dd8448eb211c80319c",
    "payload":{"code":"AGENT_NOT_AVAILABLE","final_status":"error","completed_at":"$_",
    "request_id":"3"}}
# There is no such job: it is in no listing, and no request can name it.
a> session.list_jobs #4
a< session.jobs {"payload":{"jobs":[{"job_id":"$j"}]}}
hello o bob
o> job.subscribe #1 {"job_id":"$none"}
o< session.error {"payload":{"code":"JOB_NOT_FOUND"}}
# The same request gets both again, and is not checked again.
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"id":"3","job_id":"$none"}
a< job.error {"id":"3","event_seq":5,"job_id":"$none","payload":{"code":"AGENT_NOT_AVAILABLE"}}
# Other refusals are a job.error, which the client drops.
a> job.subscribe #5 {"job_id":"job_nothing"}
a< job.error {"id":"5","event_seq":6,"job_id":"$absent",
    "payload":{"code":"JOB_NOT_FOUND","request_id":"5"}}
a> session.list_jobs #6 {"cursor":"zzz"}
a< job.error {"id":"6","event_seq":7,"payload":{"code":"INVALID_REQUEST","request_id":"6"}}
a> job.cancel #7 {"job_id":"job_nothing"}
a< job.error {"id":"7","event_seq":8,"payload":{"code":"JOB_NOT_FOUND"}}
# A resume replays the ends as any other record, not the job.accepted; also after a restart.
restart
a> session.hello #r {"client":{"name":"c","version":"1"},"auth":{"scheme":"bearer","token":"t-bob"},
    "capabilities":{"features":["list_jobs","subscribe"]},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":3}}
a< session.welcome {"session_id":"$session_a"}
a< job.error {"id":"3","event_seq":4,"job_id":"$none"}
a< job.error {"id":"3","event_seq":5,"job_id":"$none"}
a< job.error {"id":"5","event_seq":6}
a< job.error {"id":"6","event_seq":7}
a< job.error {"id":"7","event_seq":8}
a< job.error {"event_seq":9,"job_id":"$j","payload":{"code":"INTERNAL_ERROR"}}
# After the end of the last job, refusals are session.error again.
a> session.list_jobs #8 {"cursor":"zzz"}
a< session.error {"id":"8","event_seq":"$absent","payload":{"code":"INVALID_REQUEST"}}
a> job.submit #9 {"agent":"nobody"}
later +1s
a< session.error {"id":"9","payload":{"code":"AGENT_NOT_AVAILABLE"}}
# A subscription counts as a waiting request, too.
hello b bob
hello p bob
b> job.submit #1 {"agent":"echo"}
b< job.accepted {"job_id":"$k"}
p> job.subscribe #2 {"job_id":"$k"}
p< job.subscribed {"id":"2"}
p> job.submit #3 {"agent":"nobody"}
p< job.accepted {"id":"3","job_id":"$gone"}
p< job.error {"id":"3","job_id":"$gone","payload":{"code":"AGENT_NOT_AVAILABLE"}}
