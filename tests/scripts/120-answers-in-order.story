# docs/protocol.md, Sessions: 20 pipelined submits, every fifth one refused. The responses are in the order
# of the submits, although refusals are numbered and acceptances are not. (The numbers are not compared: a
# real arcpd, whose store is not held, may number events of the first jobs between them.)
hello a alice
store holds
a> {"arcp":"1.1","id":"0","type":"job.submit","trace_id":"00000000000000000000000000000001",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"1","type":"job.submit","trace_id":"00000000000000000000000000000002",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"2","type":"job.submit","trace_id":"00000000000000000000000000000003",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"3","type":"job.submit","trace_id":"00000000000000000000000000000004",
    "payload":{"agent":"nobody"}}
a> {"arcp":"1.1","id":"4","type":"job.submit","trace_id":"00000000000000000000000000000005",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"5","type":"job.submit","trace_id":"00000000000000000000000000000006",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"6","type":"job.submit","trace_id":"00000000000000000000000000000007",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"7","type":"job.submit","trace_id":"00000000000000000000000000000008",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"8","type":"job.submit","trace_id":"00000000000000000000000000000009",
    "payload":{"agent":"nobody"}}
a> {"arcp":"1.1","id":"9","type":"job.submit","trace_id":"0000000000000000000000000000000a",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"10","type":"job.submit","trace_id":"0000000000000000000000000000000b",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"11","type":"job.submit","trace_id":"0000000000000000000000000000000c",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"12","type":"job.submit","trace_id":"0000000000000000000000000000000d",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"13","type":"job.submit","trace_id":"0000000000000000000000000000000e",
    "payload":{"agent":"nobody"}}
a> {"arcp":"1.1","id":"14","type":"job.submit","trace_id":"0000000000000000000000000000000f",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"15","type":"job.submit","trace_id":"00000000000000000000000000000010",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"16","type":"job.submit","trace_id":"00000000000000000000000000000011",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"17","type":"job.submit","trace_id":"00000000000000000000000000000012",
    "payload":{"agent":"echo"}}
a> {"arcp":"1.1","id":"18","type":"job.submit","trace_id":"00000000000000000000000000000013",
    "payload":{"agent":"nobody"}}
a> {"arcp":"1.1","id":"19","type":"job.submit","trace_id":"00000000000000000000000000000014",
    "payload":{"agent":"echo"}}
a< nothing
store writes
a< job.accepted {"id":"0","trace_id":"00000000000000000000000000000001","job_id":"$j0"}
a< job.accepted {"id":"1","trace_id":"00000000000000000000000000000002","job_id":"$j1"}
a< job.accepted {"id":"2","trace_id":"00000000000000000000000000000003","job_id":"$j2"}
a< job.error {"id":"3","trace_id":"00000000000000000000000000000004","event_seq":"$e1",
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"3"}}
a< job.accepted {"id":"4","trace_id":"00000000000000000000000000000005","job_id":"$j4"}
a< job.accepted {"id":"5","trace_id":"00000000000000000000000000000006","job_id":"$j5"}
a< job.accepted {"id":"6","trace_id":"00000000000000000000000000000007","job_id":"$j6"}
a< job.accepted {"id":"7","trace_id":"00000000000000000000000000000008","job_id":"$j7"}
a< job.error {"id":"8","trace_id":"00000000000000000000000000000009","event_seq":"$e2",
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"8"}}
a< job.accepted {"id":"9","trace_id":"0000000000000000000000000000000a","job_id":"$j9"}
a< job.accepted {"id":"10","trace_id":"0000000000000000000000000000000b","job_id":"$j10"}
a< job.accepted {"id":"11","trace_id":"0000000000000000000000000000000c","job_id":"$j11"}
a< job.accepted {"id":"12","trace_id":"0000000000000000000000000000000d","job_id":"$j12"}
a< job.error {"id":"13","trace_id":"0000000000000000000000000000000e","event_seq":"$e3",
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"13"}}
a< job.accepted {"id":"14","trace_id":"0000000000000000000000000000000f","job_id":"$j14"}
a< job.accepted {"id":"15","trace_id":"00000000000000000000000000000010","job_id":"$j15"}
a< job.accepted {"id":"16","trace_id":"00000000000000000000000000000011","job_id":"$j16"}
a< job.accepted {"id":"17","trace_id":"00000000000000000000000000000012","job_id":"$j17"}
a< job.error {"id":"18","trace_id":"00000000000000000000000000000013","event_seq":"$e4",
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"18"}}
a< job.accepted {"id":"19","trace_id":"00000000000000000000000000000014","job_id":"$j19"}
# The jobs begin after all responses.
a< job.event {"event_seq":"$e5","job_id":"$j0","payload":{"kind":"status","body":{"phase":"running"}}}
