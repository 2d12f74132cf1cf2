# docs/protocol.md, The view: the keys of browsers are stored, their codes are not.
hello a alice
a> x-vendor.arcpd.page #1
a< x-vendor.arcpd.page.answer {"payload":{"code":"$code"}}
b> session.hello #1 {"auth":{"scheme":"bearer","token":"t-alice"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.page_key"]}}
b< session.welcome {"payload":{"x-vendor.arcpd.view":{"principal":"alice","page_key":"$alice"}}}
d> session.hello #1 {"auth":{"scheme":"bearer","token":"t-bob"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.page_key"]}}
d< session.welcome {"payload":{"x-vendor.arcpd.view":{"principal":"bob","page_key":"$bob"}}}
d> session.close #2
d< session.closed
restart
e> session.hello #1 {"auth":{"scheme":"bearer","token":"$alice"},"capabilities":{"features":["x-vendor.arcpd.view"]}}
e< session.welcome {"payload":{"x-vendor.arcpd.view":{"principal":"alice","role":"$absent"}}}
# It makes no code, as before.
e> x-vendor.arcpd.page #2
e< job.error {"payload":{"code":"PERMISSION_DENIED"}}
# A page that signed out stays signed out, and a code does not come back.
g> session.hello #1 {"auth":{"scheme":"bearer","token":"$bob"}}
g< session.error {"payload":{"code":"UNAUTHENTICATED"}}
h> session.hello #1 {"auth":{"scheme":"bearer","token":"$code"}}
h< session.error {"payload":{"code":"UNAUTHENTICATED"}}
# Signing out after the restart ends a key for the next one, too.
e> session.close #3
e< session.closed
restart
i> session.hello #1 {"auth":{"scheme":"bearer","token":"$alice"}}
i< session.error {"payload":{"code":"UNAUTHENTICATED"}}
