# §7.6: first the authority descriptor, then history, then new events, in the subscriber's numbering.
# [arcp:7.6-1] [arcp:7.6-9]
# One shard: with several, a job of another principal is JOB_NOT_FOUND.
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"cost.budget":["USD:2"]}}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j> one
agent $j> two
a< {"event_seq":2}
a< {"event_seq":3}
hello b alice
b> job.subscribe #1 {"job_id":"$j","history":true,"from_event_seq":2}
b< job.subscribed {"id":"1","job_id":"$j",
    "payload":{"job_id":"$j","current_status":"running","agent":"echo",
    "lease":{"cost.budget":["USD:2"]},"budget":{"USD":2},"parent_job_id":null,"trace_id":"$_",
    "subscribed_from":2,"replayed":true}}
b< {"event_seq":1,"job_id":"$j","session_id":"$session_b","payload":{"body":{"message":"two"}}}
agent $j> three
a< {"event_seq":4}
b< {"event_seq":2,"payload":{"body":{"message":"three"}}}
# A repeated request: each event is still sent once.
b> job.subscribe #2 {"job_id":"$j","history":true}
b< job.subscribed {"payload":{"replayed":false}}
b< nothing
b> job.cancel #3 {"job_id":"$j"}
b< job.error {"event_seq":3,"payload":{"code":"PERMISSION_DENIED"}}
b> job.unsubscribe #4 {"job_id":"$j"}
agent $j> four
a< {"event_seq":5}
b< nothing
hello c carol
c> job.subscribe #1 {"job_id":"$j"}
c< job.error {"payload":{"code":"PERMISSION_DENIED","details":{"job_id":"$j"}}}
c> session.list_jobs #2
c< session.jobs {"payload":{"jobs":[]}}
c> job.subscribe #3 {"job_id":"job_nothing"}
c< job.error {"payload":{"code":"JOB_NOT_FOUND"}}
