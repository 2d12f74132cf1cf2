# Limits: a connection that sends nothing for limits.hello_timeout_sec is closed; on both sides of the limit.
setting limits.hello_timeout_sec 5
connect a
clock +4999ms
a< nothing
clock +1ms
a< session.error {"session_id":"$_","payload":{"code":"UNAUTHENTICATED",
    "message":"no session.hello within 5 s","retryable":false}}
a< close 1008
# Who has said hello has time.
hello b alice
clock +10s
b> session.ping #1
b< session.pong
# Half a frame is no hello, and the attempt with a wrong token ends at once.
connect c
clock +4s
c> session.hello #1 {"auth":{"scheme":"bearer","token":"no"}}
c< session.error {"payload":{"code":"UNAUTHENTICATED"}}
c< close 1008
