# docs/protocol.md, The view: keys of browsers, and roles.
clock +1s
f> session.hello #1 {"auth":{"scheme":"bearer","token":"t-bob"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.page_key"]}}
f< session.welcome {"payload":{"x-vendor.arcpd.view":{"principal":"bob","page_key":"$bob"}}}
f> session.bye #2
# An operator who ends the sessions of a principal ends its codes and keys.
hello_role o o-olga
o> x-vendor.arcpd.end_session #1 {"principal":"bob"}
o< x-vendor.arcpd.end_session.answer
i> session.hello #1 {"auth":{"scheme":"bearer","token":"$bob"}}
i< session.error {"payload":{"code":"UNAUTHENTICATED"}}
# The key of an operator's token has the role, too.
j> session.hello #1 {"auth":{"scheme":"bearer","token":"o-olga"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.operate","x-vendor.arcpd.page_key"]}}
j< session.welcome {"payload":{"x-vendor.arcpd.view":{"principal":"olga","role":"operator","page_key":"$olga"}}}
k> session.hello #1 {"auth":{"scheme":"bearer","token":"$olga"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.operate"]}}
k< session.welcome {"payload":{"x-vendor.arcpd.view":{"principal":"olga","role":"operator"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.operate"]}}}
# After a restart as well.
restart
l> session.hello #1 {"auth":{"scheme":"bearer","token":"$olga"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.operate"]}}
l< session.welcome {"payload":{"x-vendor.arcpd.view":{"principal":"olga","role":"operator"}}}
m> session.hello #1 {"auth":{"scheme":"bearer","token":"$bob"}}
m< session.error {"payload":{"code":"UNAUTHENTICATED"}}
