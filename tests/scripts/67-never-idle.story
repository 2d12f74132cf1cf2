# Limits: session.idle_timeout_sec 0 means no limit.
setting session.idle_timeout_sec 0
a> session.hello #h {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["list_jobs"]}}
a< session.welcome
clock +1000h
a> session.list_jobs #1
a< session.jobs
clock +1000h
a< nothing
