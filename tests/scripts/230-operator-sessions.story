# docs/protocol.md, The view: x-vendor.arcpd.sessions for roles, and end_session for operators.
clock +1s
hello a alice
hello b bob
hello_role v v-vera
hello_role o o-olga
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j1"}
a< {"event_seq":1}
v> x-vendor.arcpd.sessions #1
v< x-vendor.arcpd.sessions.answer {"event_seq":"$absent","payload":{"request_id":"1","sessions":[
    {"session_id":"$session_a","principal":"alice","role":"$absent","client":"story","client_version":"1",
    "state":"connected","since":"$string","last_frame_at":"$string","jobs":1,"unsent_bytes":"$number"},
    {"session_id":"$session_b","principal":"bob","jobs":0},
    {"session_id":"$session_v","principal":"vera","role":"viewer"},
    {"session_id":"$session_o","principal":"olga","role":"operator"}],"next_cursor":null}}
audit< {"event":"operator","decision":"allowed","principal":"vera","rule":"viewer","request":"sessions"}
# Pages, and a glob of principals.
v> x-vendor.arcpd.sessions #2 {"limit":2}
v< {"payload":{"sessions":[{"session_id":"$session_a"},{"session_id":"$session_b"}],"next_cursor":"$next"}}
v> x-vendor.arcpd.sessions #3 {"limit":2,"cursor":"$next"}
v< {"payload":{"sessions":[{"session_id":"$session_v"},{"session_id":"$session_o"}],"next_cursor":null}}
v> x-vendor.arcpd.sessions #4 {"principal":"*b*"}
v< {"payload":{"sessions":[{"session_id":"$session_b"}]}}
v> x-vendor.arcpd.sessions #5 {"limit":501}
v< job.error {"payload":{"code":"INVALID_REQUEST","message":"payload.limit must be from 1 to 500"}}
# A session that is away.
drop b
v> x-vendor.arcpd.sessions #6 {"principal":"bob"}
v< {"payload":{"sessions":[{"session_id":"$session_b","state":"away","peer":"$absent"}]}}
# A viewer ends nothing.
v> x-vendor.arcpd.end_session #7 {"session_id":"$session_a"}
v< job.error {"payload":{"code":"PERMISSION_DENIED",
    "message":"x-vendor.arcpd.end_session needs the role operator"}}
audit< {"event":"operator","decision":"denied","principal":"vera","request":"end_session"}
# An operator ends a session, which cannot be resumed; its jobs go on, also after a restart.
o> x-vendor.arcpd.end_session #1 {"session_id":"$session_a"}
a< session.closed {"payload":{"reason":"ended by olga"}}
a< close 1000
o< x-vendor.arcpd.end_session.answer {"payload":{"ended":1}}
audit< {"event":"operator","decision":"allowed","principal":"olga","rule":"operator","request":"end_session",
    "target":"$session_a"}
connect a
a> session.resume #r {"resume_token":"$resume_a","session_id":"$session_a","last_event_seq":0,
    "auth":{"scheme":"bearer","token":"t-alice"}}
a< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
agent $j1> {"type":"job.event","payload":{"kind":"log","body":{"level":"info","message":"on"}}}
hello a alice
a> session.list_jobs #1 {}
a< session.jobs {"payload":{"jobs":[{"job_id":"$j1","status":"running"}]}}
a> job.subscribe #2 {"job_id":"$j1"}
a< job.subscribed
# All sessions of a principal; its own stays.
hello e alice
o> x-vendor.arcpd.end_session #2 {"principal":"alice"}
a< session.closed
e< session.closed
o< {"payload":{"ended":2}}
o> x-vendor.arcpd.end_session #3 {"principal":"olga"}
o< {"payload":{"ended":0}}
o> x-vendor.arcpd.end_session #4 {"principal":"nemo"}
o< {"payload":{"ended":0}}
# Refusals.
o> x-vendor.arcpd.end_session #5 {"session_id":"$session_o"}
o< job.error {"payload":{"code":"INVALID_REQUEST","message":"a session does not end itself: send session.close"}}
o> x-vendor.arcpd.end_session #6 {"session_id":"sess_x"}
o< job.error {"payload":{"code":"INVALID_REQUEST","message":"there is no session with this id"}}
o> x-vendor.arcpd.end_session #7 {}
o< job.error {"payload":{"code":"INVALID_REQUEST"}}
o> x-vendor.arcpd.end_session #8 {"session_id":"$session_b","principal":"bob"}
o< job.error {"payload":{"code":"INVALID_REQUEST"}}
restart
hello c alice
c> session.list_jobs #1 {}
c< session.jobs {"payload":{"jobs":[{"job_id":"$j1"}]}}
