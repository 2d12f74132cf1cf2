# Limits: so many sessions in all, whosever they are.
setting limits.sessions 2
hello(a, alice)
hello(b, bob)
c> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-carol"}}}
c< {"type":"session.error","payload":{"code":"INTERNAL_ERROR","retryable":true,"details":{"limit":"limits.sessions"}}}
c< close 1008
# Who is refused for another reason is not counted.
d> {"arcp":"1.1","id":"1","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"wrong"}}}
d< {"type":"session.error","payload":{"code":"UNAUTHENTICATED"}}
