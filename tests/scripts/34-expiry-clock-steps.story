# docs/protocol.md, Authority: a backward step of the wall clock never lengthens a lease.
# [arcp:14-4]
a> session.hello #h {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["lease_expires_at"]}}
a< session.welcome
a> job.submit #1 {"agent":"echo","lease_request":{"agent.delegate":["**"]},
    "lease_constraints":{"expires_at":"2026-01-01T01:00:00Z"}}
a< job.accepted {"job_id":"$j"}
a< job.event
# Set back by a day: the lease still lasts one hour.
wall -24h
clock +59m
a< nothing
# A child created now gets an expiry that seems a day away, but it ends with its parent's lease.
agent $j> {"type":"delegate","payload":{"agent":"work"}}
a< job.accepted {"job_id":"$c","payload":{"lease_constraints":{"expires_at":"2026-01-01T01:00:00Z"}}}
a< {"payload":{"kind":"delegate"}}
a< {"job_id":"$c","payload":{"kind":"status"}}
clock +59999ms
a< nothing
clock +1ms
a< job.error {"job_id":"$j","payload":{"code":"LEASE_EXPIRED"}}
a< job.error {"job_id":"$c","payload":{"code":"CANCELLED"}}
a< nothing
# Forward and back again: the remaining time follows the clock, within the granted time.
a> job.submit #2 {"agent":"echo","lease_constraints":{"expires_at":"$in_1h"}}
a< job.accepted {"job_id":"$k"}
a< job.event
wall +30m
wall -30m
clock +45m
a< nothing
clock +15m
a< job.error {"job_id":"$k","payload":{"code":"LEASE_EXPIRED"}}
