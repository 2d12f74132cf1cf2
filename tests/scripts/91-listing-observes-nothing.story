# §6.6: a listing subscribes to nothing: a session that has listed a job gets none of its events before it
# subscribes.
# [arcp:6.6-7]
hello a alice
hello b alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
b> session.list_jobs #1
b< session.jobs {"payload":{"jobs":[{"job_id":"$j","status":"running","last_event_seq":1}]}}
agent $j> two
a< {"event_seq":2}
b< nothing
b> session.list_jobs #2
b< session.jobs {"payload":{"jobs":[{"job_id":"$j","last_event_seq":2}]}}
b> job.subscribe #3 {"job_id":"$j"}
b< job.subscribed {"payload":{"job_id":"$j"}}
agent $j> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":3}
# The first number of its session: the listings have not sent or numbered anything.
b< job.result {"event_seq":1}
