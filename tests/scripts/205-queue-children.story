# A parent that waits for a child lends its place to it, though its agent runs one job at a time.
# Delegated jobs come before submitted ones. The end of a parent ends its queued children.
max_jobs 1
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"agent.delegate":["**"]}}
a< job.accepted {"job_id":"$parent"}
a< {"payload":{"body":{"phase":"running"}}}
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$other"}
a< {"payload":{"body":{"phase":"queued"}}}
agent $parent< {"type":"job.start"}
agent $parent> {"type":"delegate","id":"d1","payload":{"agent":"echo","delegate_id":"one","wait":true}}
a< job.accepted {"job_id":"$one"}
a< {"job_id":"$parent","payload":{"kind":"delegate","body":{"child_job_id":"$one"}}}
a< {"job_id":"$one","payload":{"body":{"phase":"running"}}}
agent $parent> {"type":"delegate","id":"d2","payload":{"agent":"echo","delegate_id":"two","wait":true}}
a< job.accepted {"job_id":"$two"}
a< {"job_id":"$parent","payload":{"kind":"delegate","body":{"child_job_id":"$two"}}}
a< {"job_id":"$two","payload":{"body":{"phase":"queued","message":"place 1 in the queue of the agent"}}}
agent $one> {"type":"job.result","payload":{"result":1}}
a< job.result {"job_id":"$one"}
agent $parent< {"type":"reply","re":"d1","payload":{"job_id":"$one","final_status":"success","result":1}}
agent $one exits 0
a< {"job_id":"$two","payload":{"body":{"phase":"running"}}}
agent $two< {"type":"job.start"}
agent $parent> {"type":"delegate","id":"d3","payload":{"agent":"echo","delegate_id":"three"}}
a< job.accepted {"job_id":"$three"}
a< {"job_id":"$parent","payload":{"kind":"delegate","body":{"child_job_id":"$three"}}}
a< {"job_id":"$three","payload":{"body":{"phase":"queued"}}}
agent $parent< {"type":"reply","re":"d3","payload":{"job_id":"$three"}}
agent $parent> {"type":"job.result","payload":{"result":"done"}}
a< job.result {"job_id":"$parent"}
a< job.error {"job_id":"$three","payload":{"code":"CANCELLED"}}
a< job.error {"job_id":"$two","payload":{"code":"CANCELLED"}}
agent $two exits 0
a< nothing
agent $parent exits 0
a< {"job_id":"$other","payload":{"body":{"phase":"running"}}}
