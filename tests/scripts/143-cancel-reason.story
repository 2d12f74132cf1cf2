# The reason of a cancel is sent to the agent, the audit log and all observers, as one line of limited
# size.
# [arcp:7.4-1]
hello a alice
hello b alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< job.event
b> job.subscribe #1 {"job_id":"$j"}
b< job.subscribed
agent $j< {"type":"job.start"}
a> job.cancel #2 {"job_id":"$j","reason":"wrong branch\u001b[2J\nof \u00e4pples"}
a< job.cancelled {"payload":{"job_id":"$j","reason":"wrong branch\u001b[2J\nof \u00e4pples"}}
audit< {"event":"cancel","decision":"allowed","principal":"alice","job_id":"$j",
    "reason":"wrong branch?[2J?of \u00e4pples"}
agent $j< {"type":"job.cancel","payload":{"reason":"client",
    "message":"wrong branch?[2J?of \u00e4pples","grace_ms":30000}}
# The first one counts.
a> job.cancel #3 {"job_id":"$j","reason":"another"}
a< job.cancelled {"payload":{"reason":"another"}}
agent $j exits 0
a< job.error {"payload":{"code":"CANCELLED",
    "message":"the job was cancelled: wrong branch?[2J?of \u00e4pples"}}
b< job.error {"payload":{"code":"CANCELLED",
    "message":"the job was cancelled: wrong branch?[2J?of \u00e4pples"}}
# It is cut to 200 bytes, between characters.
a> job.submit #4 {"agent":"echo"}
a< job.accepted {"job_id":"$k"}
a< job.event
agent $k< {"type":"job.start"}
a> job.cancel #5 {"job_id":"$k","reason":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\u00e4more"}
a< job.cancelled
agent $k< {"type":"job.cancel","payload":{"message":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}}
agent $k exits 0
a< job.error {"payload":{"code":"CANCELLED"}}
# Without a reason there is no such member.
a> job.submit #6 {"agent":"echo"}
a< job.accepted {"job_id":"$l"}
a< job.event
agent $l< {"type":"job.start"}
a> job.cancel #7 {"job_id":"$l"}
a< job.cancelled {"payload":{"reason":"$absent"}}
agent $l< {"type":"job.cancel","payload":{"reason":"client","message":"$absent"}}
agent $l exits 0
a< job.error {"payload":{"code":"CANCELLED","message":"the job was cancelled"}}
