# docs/protocol.md, The view: how long the codes and keys of browsers are valid.
hello a alice
a> x-vendor.arcpd.page #1
a< x-vendor.arcpd.page.answer {"payload":{"code":"$late"}}
a> x-vendor.arcpd.page #2
a< x-vendor.arcpd.page.answer {"payload":{"code":"$early"}}
clock +59s
b> session.hello #1 {"auth":{"scheme":"bearer","token":"$early"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.page_key"]}}
b< session.welcome {"payload":{"x-vendor.arcpd.view":{"page_key":"$key"}}}
b> session.bye #2
clock +1s
c> session.hello #1 {"auth":{"scheme":"bearer","token":"$late"}}
c< session.error {"payload":{"code":"UNAUTHENTICATED"}}
# An hour without use ends a key, and each use begins a new hour.
clock +3598s
d> session.hello #1 {"auth":{"scheme":"bearer","token":"$key"}}
d< session.welcome
d> session.bye #2
clock +3599s
e> session.hello #1 {"auth":{"scheme":"bearer","token":"$key"}}
e< session.welcome
e> session.bye #2
clock +3600s
f> session.hello #1 {"auth":{"scheme":"bearer","token":"$key"}}
f< session.error {"payload":{"code":"UNAUTHENTICATED"}}
