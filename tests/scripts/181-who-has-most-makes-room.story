# docs/protocol.md, Sessions: above the limit of kept ended jobs, the oldest one of the principal with the most is removed.
setting jobs.keep_terminal_max 3
hello b bob
b> job.submit #1 {"agent":"echo","idempotency_key":"pay-once"}
b< job.accepted {"job_id":"$bobs"}
b< {"event_seq":1}
agent $bobs> {"type":"job.result","payload":{}}
agent $bobs exits 0
b< job.result {"event_seq":2}
clock +1s
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$first"}
a< {"event_seq":1}
agent $first> {"type":"job.result","payload":{}}
agent $first exits 0
a< job.result {"event_seq":2}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$second"}
a< {"event_seq":3}
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
a< job.result {"event_seq":4}
clock +1s
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$third"}
a< {"event_seq":5}
agent $third> {"type":"job.result","payload":{}}
agent $third exits 0
a< job.result {"event_seq":6}
clock +1s
# Bob's job ended before them, and is still kept.
a> session.list_jobs #4
a< session.jobs {"payload":{"jobs":[{"job_id":"$second"},{"job_id":"$third"}]}}
b> session.list_jobs #2
b< session.jobs {"payload":{"jobs":[{"job_id":"$bobs"}]}}
# Also after a restart.
restart
hello c alice
c> job.submit #1 {"agent":"echo"}
c< job.accepted {"job_id":"$fourth"}
c< {"event_seq":1}
agent $fourth> {"type":"job.result","payload":{}}
agent $fourth exits 0
c< job.result {"event_seq":2}
clock +1s
c> session.list_jobs #2
c< session.jobs {"payload":{"jobs":[{"job_id":"$third"},{"job_id":"$fourth"}]}}
hello d bob
d> job.submit #1 {"agent":"echo","idempotency_key":"pay-once"}
d< job.accepted {"job_id":"$bobs"}
d< job.event {"job_id":"$bobs"}
d< job.result {"job_id":"$bobs"}
d< nothing
