# docs/protocol.md, Sessions: a submit with the key of a removed job gets job.accepted, and an error because its end is
# not kept. Both are sent again if the client repeats the request with the same id: the response may have been lost.
setting jobs.keep_terminal_max 1
hello a alice
a> job.submit #1 {"agent":"echo","idempotency_key":"one"}
a< job.accepted {"job_id":"$first"}
a< {"event_seq":1}
agent $first> {"type":"job.result","payload":{}}
agent $first exits 0
a< job.result {"event_seq":2}
clock +1s
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$second"}
a< {"event_seq":3}
agent $second> {"type":"job.result","payload":{}}
agent $second exits 0
a< job.result {"event_seq":4}
hello b alice
b> job.submit #1 {"agent":"echo","idempotency_key":"one"}
b< job.accepted {"job_id":"$first","payload":{"request_id":"1"}}
b< job.error {"event_seq":1,"job_id":"$first","payload":{"code":"JOB_NOT_FOUND"}}
drop b
# b behaves as if it had received neither: after the replay it repeats the request.
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_b","resume_token":"$resume_b","last_event_seq":0}}
b< session.welcome {"session_id":"$session_b"}
b< job.error {"event_seq":1,"job_id":"$first"}
b> job.submit #1 {"agent":"echo","idempotency_key":"one"}
b< job.accepted {"job_id":"$first","payload":{"request_id":"1"}}
b< job.error {"event_seq":2,"job_id":"$first","payload":{"code":"JOB_NOT_FOUND"}}
b< nothing
