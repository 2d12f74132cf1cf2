# docs/protocol.md, The view: x-vendor.arcpd.end: a principal ends its jobs from any of its sessions; the reason
# reaches the agent, the watchers and the audit log.
setting jobs.cancel_grace_ms 30000
hello a alice
hello b alice
a> job.submit #1 {"agent":"work","lease_request":{"agent.delegate":["echo"]}}
a< job.accepted {"job_id":"$j"}
a< {"event_seq":1}
agent $j< {"type":"job.start"}
agent $j> {"type":"delegate","payload":{"agent":"echo","delegate_id":"d"}}
a< job.accepted {"job_id":"$child"}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$child","payload":{"kind":"status"}}
b> x-vendor.arcpd.end #1 {"job_id":"$j","reason":"no longer\nneeded","grace_ms":30001}
b< job.error {"payload":{"code":"INVALID_REQUEST"}}
b> x-vendor.arcpd.end #2 {"job_id":"$j","reason":"no longer\nneeded","grace_ms":30000}
b< x-vendor.arcpd.end.answer {"payload":{"request_id":"2","job_id":"$j","status":"running"}}
agent $j< {"type":"job.cancel","payload":{"reason":"client","message":"$string","grace_ms":30000}}
audit< {"event":"cancel","decision":"allowed","rule":"own job","job_id":"$j"}
agent $j exits 0
a< job.error {"job_id":"$j","payload":{"code":"CANCELLED","final_status":"cancelled"}}
a< job.error {"job_id":"$child","payload":{"code":"CANCELLED"}}
# At once: the job has ended when the response comes, and its agent is killed.
a> job.submit #2 {"agent":"work"}
a< job.accepted {"job_id":"$k"}
a< {"payload":{"kind":"status"}}
agent $k< {"type":"job.start"}
b> x-vendor.arcpd.end #3 {"job_id":"$k","reason":"stuck","grace_ms":0}
b< x-vendor.arcpd.end.answer {"payload":{"job_id":"$k","status":"cancelled"}}
a< job.error {"job_id":"$k","payload":{"code":"CANCELLED","message":"the job was cancelled: stuck"}}
agent $k killed
# One that has ended stays as it is.
b> x-vendor.arcpd.end #4 {"job_id":"$k"}
b< x-vendor.arcpd.end.answer {"payload":{"status":"cancelled"}}
