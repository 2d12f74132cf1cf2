# §5: unknown members of the envelope are ignored, in requests that are executed.
# [arcp:5-2]
a> {"arcp":"1.1","id":"h","type":"session.hello","priority":9,"x":{"y":[1]},
    "payload":{"auth":{"scheme":"bearer","token":"t-alice"}}}
a< session.welcome {"id":"h","priority":"$absent","x":"$absent"}
a> {"arcp":"1.1","id":"1","type":"job.submit","deadline":"soon","event":null,
    "payload":{"agent":"echo","input":1}}
a< job.accepted {"id":"1","job_id":"$j","deadline":"$absent","event":"$absent"}
a< {"event_seq":1}
a> {"future":[[]],"arcp":"1.1","id":"2","type":"job.cancel","payload":{"job_id":"$j"}}
a< job.cancelled {"id":"2","job_id":"$j"}
agent $j< {"type":"job.start"}
agent $j exits 0
a< job.error {"event_seq":2,"payload":{"code":"CANCELLED"}}
