# §8.2: progress: current from zero on, a number; everything else may be missing.
# [arcp:8.2.1-1] [arcp:8.2.1-2] [arcp:8.2.1-4]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j< {"type":"job.start"}
agent $j> {"type":"job.event","payload":{"kind":"progress","body":{"current":0}}}
a< {"event_seq":2,"payload":{"kind":"progress",
    "body":{"current":0,"total":"$absent","units":"$absent","message":"$absent"}}}
agent $j> {"type":"job.event","payload":{"kind":"progress",
    "body":{"current":0.5,"total":1,"units":"files","message":"half"}}}
a< {"event_seq":3,"payload":{"kind":"progress",
    "body":{"current":0.5,"total":1,"units":"files","message":"half"}}}
agent $j> {"type":"job.event","id":"1","payload":{"kind":"progress","body":{"current":-0.001}}}
agent $j< {"re":"1","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"2","payload":{"kind":"progress","body":{"current":"1"}}}
agent $j< {"re":"2","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","id":"3","payload":{"kind":"progress","body":{"total":1}}}
agent $j< {"re":"3","payload":{"error":{"code":"INVALID_REQUEST"}}}
# No refused event was sent, and a complete progress does not end the job.
agent $j> {"type":"job.event","payload":{"kind":"progress","body":{"current":1,"total":1}}}
a< {"event_seq":4,"payload":{"kind":"progress"}}
agent $j> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":5}
