# Limits: without a hello a connection is closed after limits.hello_timeout_sec.
setting limits.hello_timeout_sec 5
connect a
clock +4999ms
a< nothing
clock +1ms
a< session.error {"session_id":"$_","payload":{"code":"UNAUTHENTICATED",
    "message":"no session.hello within 5 s","retryable":false}}
a< close 1008
# After a hello this limit does not apply.
hello b alice
clock +10s
b> session.ping #1
b< session.pong
# Half a frame does not count as a hello, and an attempt with a wrong token ends at once.
connect c
clock +4s
c> session.hello #1 {"auth":{"scheme":"bearer","token":"no"}}
c< session.error {"payload":{"code":"UNAUTHENTICATED"}}
c< close 1008
