# §6.2: an agent is told what its own job's session has negotiated, in the draft's order, whatever
# other sessions, whose jobs begin before and after it, have.
# [arcp:6.2-4]
a> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["ack","progress"]}}}
a< {"type":"session.welcome"}
b> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":[]}}}
b< {"type":"session.welcome"}
c> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":["result_chunk","progress"]}}}
c< {"type":"session.welcome"}
a> {"arcp":"1.1","id":"one","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$one"}
a< {"payload":{"body":{"phase":"running"}}}
agent $one< {"type":"job.start","payload":{"features":["ack","progress"]}}
a> {"arcp":"1.1","id":"two","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$two"}
a< {"payload":{"body":{"phase":"running"}}}
agent $two< {"type":"job.start","payload":{"features":["ack","progress"]}}
b> {"arcp":"1.1","id":"three","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.accepted","job_id":"$three"}
b< {"payload":{"body":{"phase":"running"}}}
agent $three< {"type":"job.start","payload":{"features":[]}}
b> {"arcp":"1.1","id":"four","type":"job.submit","payload":{"agent":"echo"}}
b< {"type":"job.accepted","job_id":"$four"}
b< {"payload":{"body":{"phase":"running"}}}
agent $four< {"type":"job.start","payload":{"features":[]}}
c> {"arcp":"1.1","id":"five","type":"job.submit","payload":{"agent":"echo"}}
c< {"type":"job.accepted","job_id":"$five"}
c< {"payload":{"body":{"phase":"running"}}}
agent $five< {"type":"job.start","payload":{"features":["progress","result_chunk"]}}
a> {"arcp":"1.1","id":"six","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$six"}
a< {"payload":{"body":{"phase":"running"}}}
agent $six< {"type":"job.start","payload":{"features":["ack","progress"]}}
