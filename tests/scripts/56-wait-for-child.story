# §10, wait: the parent's delegate line gets its response when the child has ended, in any way.
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"agent.delegate":["**"]}}
a< job.accepted {"job_id":"$p"}
a< {"payload":{"kind":"status"}}
agent $p< {"type":"job.start"}
# By its own error.
agent $p> {"type":"delegate","id":"1","payload":{"agent":"work","wait":true}}
a< job.accepted {"job_id":"$a"}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$a","payload":{"kind":"status"}}
agent $p< nothing
agent $a> {"type":"job.error","payload":{"code":"PERMISSION_DENIED","message":"no",
    "details":{"d":1}}}
a< job.error {"job_id":"$a"}
agent $p< {"re":"1","payload":{"job_id":"$a","final_status":"error","result":"$absent",
    "error":{"code":"PERMISSION_DENIED","message":"no","retryable":false,"details":{"d":1}}}}
# By a cancel of the client: a child is a job of the session.
agent $p> {"type":"delegate","id":"2","payload":{"agent":"work","wait":true}}
a< job.accepted {"job_id":"$b"}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$b","payload":{"kind":"status"}}
a> job.cancel #2 {"job_id":"$b"}
a< job.cancelled {"job_id":"$b"}
agent $b exits 0
a< job.error {"job_id":"$b","payload":{"code":"CANCELLED"}}
agent $p< {"re":"2","payload":{"job_id":"$b","final_status":"cancelled",
    "error":{"code":"CANCELLED"}}}
# With a streamed result: its result_id.
agent $p> {"type":"delegate","id":"3","payload":{"agent":"work","wait":true}}
a< job.accepted {"job_id":"$c"}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$c","payload":{"kind":"status"}}
agent $c> {"type":"result.chunk","payload":{"data":"abc","encoding":"utf8","more":false}}
a< {"job_id":"$c","payload":{"kind":"result_chunk","body":{"result_id":"$r"}}}
agent $c> {"type":"job.result","payload":{"summary":"three"}}
a< job.result {"job_id":"$c"}
agent $p< {"re":"3","payload":{"job_id":"$c","final_status":"success","result_id":"$r",
    "result_size":3,"summary":"three"}}
# Two at a time, in any order.
agent $p> {"type":"delegate","id":"4","payload":{"agent":"work","wait":true}}
a< job.accepted {"job_id":"$d"}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$d","payload":{"kind":"status"}}
agent $p> {"type":"delegate","id":"5","payload":{"agent":"work","wait":true}}
a< job.accepted {"job_id":"$e"}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$e","payload":{"kind":"status"}}
agent $e> {"type":"job.result","payload":{"result":5}}
a< job.result {"job_id":"$e"}
agent $p< {"re":"5","payload":{"job_id":"$e","result":5}}
agent $d> {"type":"job.result","payload":{"result":4}}
a< job.result {"job_id":"$d"}
agent $p< {"re":"4","payload":{"job_id":"$d","result":4}}
# Without wait the response is the child's id, at once.
agent $p> {"type":"delegate","id":"6","payload":{"agent":"work"}}
a< job.accepted {"job_id":"$f"}
a< {"payload":{"kind":"delegate"}}
agent $p< {"re":"6","payload":{"job_id":"$f","final_status":"$absent"}}
