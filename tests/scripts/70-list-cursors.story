# §6.6, docs/protocol.md, list_jobs: a keyset cursor: pages neither skip nor repeat a job when others
# come and go; limits from 1 to 1000.
# [arcp:6.6-3] [arcp:6.6-4] [arcp:6.6-6]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< {"event_seq":1}
a> job.submit #2 {"agent":"work"}
a< job.accepted {"job_id":"$j2"}
a< {"event_seq":2}
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$j3"}
a< {"event_seq":3}
a> session.list_jobs #4 {"limit":1}
a< {"payload":{"jobs":[{"job_id":"$j1"}],"next_cursor":"$c1"}}
a> session.list_jobs #5 {"limit":1,"cursor":"$c1"}
a< {"payload":{"jobs":[{"job_id":"$j2"}],"next_cursor":"$c2"}}
# One job is added, one ends: the next page continues after the last one.
a> job.submit #6 {"agent":"echo"}
a< job.accepted {"job_id":"$j4"}
a< {"event_seq":4}
agent $j2> {"type":"job.result","payload":{"result":1}}
a< job.result {"event_seq":5}
a> session.list_jobs #7 {"limit":1000,"cursor":"$c2"}
a< {"payload":{"jobs":[{"job_id":"$j3"},{"job_id":"$j4"}],"next_cursor":null}}
a> session.list_jobs #8 {"limit":2,"cursor":"$c2"}
a< {"payload":{"jobs":[{"job_id":"$j3"},{"job_id":"$j4"}],"next_cursor":null}}
# A cursor goes with any filter, and with any session of the principal.
hello b alice
b> session.list_jobs #1 {"filter":{"agent":"work"},"cursor":"$c1"}
b< {"payload":{"jobs":[{"job_id":"$j2","status":"success"}],"next_cursor":null}}
b> session.list_jobs #2 {"filter":{"status":["running"]},"limit":1}
b< {"payload":{"jobs":[{"job_id":"$j1"}],"next_cursor":"$c3"}}
b> session.list_jobs #3 {"filter":{"status":["running"]},"limit":1,"cursor":"$c3"}
b< {"payload":{"jobs":[{"job_id":"$j3"}]}}
# The cursor of another principal shows none of their jobs.
hello c carol
c> session.list_jobs #1 {"cursor":"$c1"}
c< {"payload":{"jobs":[],"next_cursor":null}}
# It survives a restart.
restart
b> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_b","resume_token":"$resume_b","last_event_seq":0}}
b< session.welcome
b> session.list_jobs #4 {"limit":1,"cursor":"$c2"}
b< {"payload":{"jobs":[{"job_id":"$j3","status":"error"}],"next_cursor":"$_"}}
b> session.list_jobs #5 {"limit":1.5}
b< job.error {"payload":{"code":"INVALID_REQUEST"}}
b> session.list_jobs #6 {"limit":"10"}
b< job.error {"payload":{"code":"INVALID_REQUEST"}}
b> session.list_jobs #7 {"limit":-1}
b< job.error {"payload":{"code":"INVALID_REQUEST"}}
b> session.list_jobs #8 {"cursor":"job_0000000000000000000000000U"}
b< job.error {"payload":{"code":"INVALID_REQUEST",
    "message":"payload.cursor is not one that a listing returned"}}
