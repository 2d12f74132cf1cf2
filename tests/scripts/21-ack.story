# §6.5: acknowledgements free events, never decrease, and cannot exceed the last number.
# [arcp:6.5-6]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
a> session.ack #2 {"last_processed_seq":1}
a< nothing
a> session.ack #3 {"last_processed_seq":0}
a< nothing
a> session.ack #4 {"last_processed_seq":2}
a< job.error {"payload":{"code":"INVALID_REQUEST","request_id":"4"}}
a> session.ack #5 {"last_processed_seq":1.5}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> session.ack #6
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
