# §10: a delegate_id identifies one child of a job; using it again is refused, whatever the state of the
# first child.
# [arcp:10-1]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"agent.delegate":["**"]}}
a< job.accepted {"job_id":"$p"}
a< job.event
agent $p< {"type":"job.start"}
# The id of a refused delegation may be used again.
agent $p> {"type":"delegate","id":"1",
    "payload":{"agent":"echo","delegate_id":"D","lease_request":{"fs.read":["/**"]}}}
a< job.event {"payload":{"kind":"tool_result",
    "body":{"call_id":"D","error":{"code":"LEASE_SUBSET_VIOLATION"}}}}
agent $p< {"re":"1","payload":{"error":{"code":"LEASE_SUBSET_VIOLATION"}}}
agent $p> {"type":"delegate","id":"2","payload":{"agent":"echo","delegate_id":"D"}}
a< job.accepted {"job_id":"$c","payload":{"delegate_id":"D"}}
a< job.event {"job_id":"$p","payload":{"kind":"delegate","body":{"delegate_id":"D"}}}
a< job.event {"job_id":"$c"}
agent $p< {"re":"2","payload":{"job_id":"$c"}}
# The first delegation gets no tool_result.
agent $p> {"type":"delegate","id":"3","payload":{"agent":"echo","delegate_id":"D"}}
agent $p< {"re":"3","payload":{"error":{"code":"INVALID_REQUEST",
    "message":"delegate_id \"D\" names another child of this job already"}}}
a< nothing
agent $c> {"type":"job.result","payload":{}}
a< job.result {"job_id":"$c"}
agent $p> {"type":"delegate","id":"4","payload":{"agent":"echo","delegate_id":"D"}}
agent $p< {"re":"4","payload":{"error":{"code":"INVALID_REQUEST"}}}
a< nothing
# Another id or none is accepted, and so is the same id in another job.
agent $p> {"type":"delegate","id":"5",
    "payload":{"agent":"echo","delegate_id":"E","lease_request":{"agent.delegate":["**"]}}}
a< job.accepted {"job_id":"$e","payload":{"delegate_id":"E"}}
a< job.event {"job_id":"$p"}
a< job.event {"job_id":"$e"}
agent $p< {"re":"5"}
agent $p> {"type":"delegate","id":"6","payload":{"agent":"echo"}}
a< job.accepted
a< job.event {"job_id":"$p"}
a< job.event
agent $p< {"re":"6"}
agent $e< {"type":"job.start"}
agent $e> {"type":"delegate","id":"1","payload":{"agent":"echo","delegate_id":"D"}}
a< job.accepted {"payload":{"parent_job_id":"$e","delegate_id":"D"}}
