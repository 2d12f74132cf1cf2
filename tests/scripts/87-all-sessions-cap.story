# Limits: the total number of sessions of all principals.
setting limits.sessions 2
hello a alice
hello b bob
c> session.hello #1 {"auth":{"scheme":"bearer","token":"t-carol"}}
c< session.error {"payload":{"code":"INTERNAL_ERROR","retryable":true,
    "details":{"limit":"limits.sessions"}}}
c< close 1008
# A client refused for another reason is not counted.
d> session.hello #1 {"auth":{"scheme":"bearer","token":"wrong"}}
d< session.error {"payload":{"code":"UNAUTHENTICATED"}}
