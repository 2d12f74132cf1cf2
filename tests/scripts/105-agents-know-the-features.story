# §6.2: an agent gets the features negotiated by the session of its job, in the order of the draft, and
# not those of other sessions whose jobs begin before and after it.
# [arcp:6.2-4]
a> session.hello #h {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["ack","progress"]}}
a< session.welcome
b> session.hello #h {"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":[]}}
b< session.welcome
c> session.hello #h {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["result_chunk","progress"]}}
c< session.welcome
a> job.submit #one {"agent":"echo"}
a< job.accepted {"job_id":"$one"}
a< {"payload":{"body":{"phase":"running"}}}
agent $one< {"type":"job.start","payload":{"features":["ack","progress"]}}
a> job.submit #two {"agent":"echo"}
a< job.accepted {"job_id":"$two"}
a< {"payload":{"body":{"phase":"running"}}}
agent $two< {"type":"job.start","payload":{"features":["ack","progress"]}}
b> job.submit #three {"agent":"echo"}
b< job.accepted {"job_id":"$three"}
b< {"payload":{"body":{"phase":"running"}}}
agent $three< {"type":"job.start","payload":{"features":[]}}
b> job.submit #four {"agent":"echo"}
b< job.accepted {"job_id":"$four"}
b< {"payload":{"body":{"phase":"running"}}}
agent $four< {"type":"job.start","payload":{"features":[]}}
c> job.submit #five {"agent":"echo"}
c< job.accepted {"job_id":"$five"}
c< {"payload":{"body":{"phase":"running"}}}
agent $five< {"type":"job.start","payload":{"features":["progress","result_chunk"]}}
a> job.submit #six {"agent":"echo"}
a< job.accepted {"job_id":"$six"}
a< {"payload":{"body":{"phase":"running"}}}
agent $six< {"type":"job.start","payload":{"features":["ack","progress"]}}
