# §6.3: the window starts at each disconnect, and at a restart of the runtime; 0 removes a session as soon
# as it is disconnected.
setting session.resume_window_sec 100
hello a alice
clock +20s
drop a
clock +99s
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$resume_a","last_event_seq":0}}
a< session.welcome {"payload":{"resume_token":"$t2","resume_window_sec":100}}
drop a
clock +99s
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t2","last_event_seq":0}}
a< session.welcome {"payload":{"resume_token":"$t3"}}
restart
clock +98s
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t3","last_event_seq":0}}
a< session.welcome {"payload":{"resume_token":"$t4"}}
restart
clock +101s
a> session.hello #r {"auth":{"scheme":"bearer","token":"t-alice"},
    "resume":{"session_id":"$session_a","resume_token":"$t4","last_event_seq":0}}
a< session.error {"payload":{"code":"RESUME_WINDOW_EXPIRED"}}
