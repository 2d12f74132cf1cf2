# §6.2, §7.1: hello, submit, events in order, result, close.
# [arcp:5-1] [arcp:6.7-1] [arcp:7.1-1] [arcp:7.1-2] [arcp:8.1-1] [arcp:11-1]
hello a alice
a> {"arcp":"1.1","id":"s1","type":"job.submit","session_id":"$session_a",
    "trace_id":"4BF92F3577B34DA6A3CE929D0E0E4736",
    "payload":{"agent":"echo","input":{"n":1.50},"lease_request":{"tool.call":["web.*"]}}}
a< job.accepted {"id":"s1","session_id":"$session_a","job_id":"$job",
    "trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","event_seq":"$absent",
    "payload":{"job_id":"$job","request_id":"s1","reply_to":"s1","agent":"echo",
    "lease":{"tool.call":["web.*"]},"accepted_at":"$_",
    "trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}}
a< job.event {"event_seq":1,"job_id":"$job",
    "payload":{"kind":"status","ts":"$_","body":{"phase":"running"}}}
agent $job< {"type":"job.start","payload":{"job_id":"$job","agent":"echo","input":{"n":1.5},
    "lease":{"tool.call":["web.*"]},"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",
    "traceparent":"$_","cwd":"$_"}}
agent $job> a line that is no JSON
a< job.event {"event_seq":2,"payload":{"kind":"log",
    "body":{"level":"info","message":"a line that is no JSON"}}}
agent $job> {"type":"job.event","id":"e1",
    "payload":{"kind":"progress","body":{"current":1,"total":2}}}
a< job.event {"event_seq":3,"payload":{"kind":"progress","body":{"current":1,"total":2}}}
agent $job< {"type":"reply","re":"e1","payload":{}}
agent $job> {"type":"job.result","payload":{"result":{"ok":true},"summary":"done"}}
a< job.result {"event_seq":4,"job_id":"$job",
    "payload":{"final_status":"success","result":{"ok":true},"summary":"done","job_id":"$job",
    "completed_at":"$_"}}
# Nothing follows the end of a job.
agent $job> {"type":"job.event","payload":{"kind":"log","body":{"level":"info","message":"late"}}}
agent $job exits 0
a< nothing
a> session.close #c1
a< session.closed {"id":"c1","session_id":"$session_a"}
a< close 1000
