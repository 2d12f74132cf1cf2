# What the canceller wrote reaches the agent, the audit log and everyone who watches; as one line, and
# not without end.
# [arcp:7.4-1]
hello(a, alice)
hello(b, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j"}
a< {"type":"job.event"}
b> {"arcp":"1.1","id":"1","type":"job.subscribe","payload":{"job_id":"$j"}}
b< {"type":"job.subscribed"}
agent $j< {"type":"job.start"}
a> {"arcp":"1.1","id":"2","type":"job.cancel","payload":{"job_id":"$j","reason":"wrong branch\u001b[2J\nof \u00e4pples"}}
a< {"type":"job.cancelled","payload":{"job_id":"$j","reason":"wrong branch\u001b[2J\nof \u00e4pples"}}
audit< {"event":"cancel","decision":"allowed","principal":"alice","job_id":"$j","reason":"wrong branch?[2J?of \u00e4pples"}
agent $j< {"type":"job.cancel","payload":{"reason":"client","message":"wrong branch?[2J?of \u00e4pples","grace_ms":30000}}
# The first one counts.
a> {"arcp":"1.1","id":"3","type":"job.cancel","payload":{"job_id":"$j","reason":"another"}}
a< {"type":"job.cancelled","payload":{"reason":"another"}}
agent $j exits 0
a< {"type":"job.error","payload":{"code":"CANCELLED","message":"the job was cancelled: wrong branch?[2J?of \u00e4pples"}}
b< {"type":"job.error","payload":{"code":"CANCELLED","message":"the job was cancelled: wrong branch?[2J?of \u00e4pples"}}
# Two hundred bytes of it, and no half character.
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$k"}
a< {"type":"job.event"}
agent $k< {"type":"job.start"}
a> {"arcp":"1.1","id":"5","type":"job.cancel","payload":{"job_id":"$k","reason":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\u00e4more"}}
a< {"type":"job.cancelled"}
agent $k< {"type":"job.cancel","payload":{"message":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}}
agent $k exits 0
a< {"type":"job.error","payload":{"code":"CANCELLED"}}
# Without one there is none.
a> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$l"}
a< {"type":"job.event"}
agent $l< {"type":"job.start"}
a> {"arcp":"1.1","id":"7","type":"job.cancel","payload":{"job_id":"$l"}}
a< {"type":"job.cancelled","payload":{"reason":"$absent"}}
agent $l< {"type":"job.cancel","payload":{"reason":"client","message":"$absent"}}
agent $l exits 0
a< {"type":"job.error","payload":{"code":"CANCELLED","message":"the job was cancelled"}}
