# §6.6, docs/protocol.md, list_jobs: a keyset cursor: pages neither skip nor repeat a job when others
# come and go; limits from 1 to 1000.
# [arcp:6.6-3] [arcp:6.6-4] [arcp:6.6-6]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j1"}
a< {"event_seq":1}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"work"}}
a< {"type":"job.accepted","job_id":"$j2"}
a< {"event_seq":2}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j3"}
a< {"event_seq":3}
a> {"arcp":"1.1","id":"4","type":"session.list_jobs","payload":{"limit":1}}
a< {"payload":{"jobs":[{"job_id":"$j1"}],"next_cursor":"$c1"}}
a> {"arcp":"1.1","id":"5","type":"session.list_jobs","payload":{"limit":1,"cursor":"$c1"}}
a< {"payload":{"jobs":[{"job_id":"$j2"}],"next_cursor":"$c2"}}
# One comes, one ends: the next page goes on where the last ended.
a> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$j4"}
a< {"event_seq":4}
agent $j2> {"type":"job.result","payload":{"result":1}}
a< {"type":"job.result","event_seq":5}
a> {"arcp":"1.1","id":"7","type":"session.list_jobs","payload":{"limit":1000,"cursor":"$c2"}}
a< {"payload":{"jobs":[{"job_id":"$j3"},{"job_id":"$j4"}],"next_cursor":null}}
a> {"arcp":"1.1","id":"8","type":"session.list_jobs","payload":{"limit":2,"cursor":"$c2"}}
a< {"payload":{"jobs":[{"job_id":"$j3"},{"job_id":"$j4"}],"next_cursor":null}}
# A cursor goes with any filter, and with any session of the principal.
hello(b, alice)
b> {"arcp":"1.1","id":"1","type":"session.list_jobs","payload":{"filter":{"agent":"work"},"cursor":"$c1"}}
b< {"payload":{"jobs":[{"job_id":"$j2","status":"success"}],"next_cursor":null}}
b> {"arcp":"1.1","id":"2","type":"session.list_jobs","payload":{"filter":{"status":["running"]},"limit":1}}
b< {"payload":{"jobs":[{"job_id":"$j1"}],"next_cursor":"$c3"}}
b> {"arcp":"1.1","id":"3","type":"session.list_jobs","payload":{"filter":{"status":["running"]},"limit":1,"cursor":"$c3"}}
b< {"payload":{"jobs":[{"job_id":"$j3"}]}}
# Another principal's cursor shows nothing of theirs.
hello(c, carol)
c> {"arcp":"1.1","id":"1","type":"session.list_jobs","payload":{"cursor":"$c1"}}
c< {"payload":{"jobs":[],"next_cursor":null}}
# It survives a restart.
restart
b> {"arcp":"1.1","id":"r","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"resume":{"session_id":"$s_b","resume_token":"$t_b","last_event_seq":0}}}
b< {"type":"session.welcome"}
b> {"arcp":"1.1","id":"4","type":"session.list_jobs","payload":{"limit":1,"cursor":"$c2"}}
b< {"payload":{"jobs":[{"job_id":"$j3","status":"error"}],"next_cursor":"$_"}}
b> {"arcp":"1.1","id":"5","type":"session.list_jobs","payload":{"limit":1.5}}
b< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
b> {"arcp":"1.1","id":"6","type":"session.list_jobs","payload":{"limit":"10"}}
b< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
b> {"arcp":"1.1","id":"7","type":"session.list_jobs","payload":{"limit":-1}}
b< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
b> {"arcp":"1.1","id":"8","type":"session.list_jobs","payload":{"cursor":"job_0000000000000000000000000U"}}
b< {"type":"job.error","payload":{"code":"INVALID_REQUEST","message":"payload.cursor is not one that a listing returned"}}
