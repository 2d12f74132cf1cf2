# docs/protocol.md, Subscribe: authorization.subscribe: any lets every principal observe, but nothing else.
# [arcp:7.6-14] [arcp:14-2] [arcp:14-3] [arcp:14-21]
# One shard: with several, authorization.subscribe: any is refused.
setting authorization.subscribe any
hello a alice
hello b bob
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
b> job.subscribe #1 {"job_id":"$j","history":true}
b< job.subscribed {"job_id":"$j","payload":{"current_status":"running","replayed":true,
    "subscribed_from":0}}
b< {"event_seq":1,"session_id":"$session_b","payload":{"kind":"status"}}
audit< {"event":"subscribe","principal":"bob","job_id":"$j","owner":"alice","decision":"allowed",
    "rule":"authorization.subscribe: any"}
# An observer may not cancel.
b> job.cancel #2 {"job_id":"$j"}
b< job.error {"event_seq":2,"payload":{"code":"PERMISSION_DENIED"}}
b> session.list_jobs #3
b< session.jobs {"payload":{"jobs":[]}}
agent $j> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":2}
b< job.result {"event_seq":3}
