# docs/protocol.md, The view: codes and keys, with which a browser signs in.
hello a alice
a> x-vendor.arcpd.page #1
a< x-vendor.arcpd.page.answer {"id":"1","event_seq":"$absent","payload":{"code":"$code"}}
# The code opens one session, whose welcome has a key.
b> session.hello #1 {"client":{"name":"page"},"auth":{"scheme":"bearer","token":"$code"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.page_key"]}}
b< session.welcome {"payload":{"x-vendor.arcpd.view":{"principal":"alice","role":"$absent","page_key":"$key"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.page_key"]}}}
audit< {"event":"authentication","decision":"allowed","principal":"alice"}
c> session.hello #1 {"auth":{"scheme":"bearer","token":"$code"}}
c< session.error {"payload":{"code":"UNAUTHENTICATED","message":"the token is missing or not valid"}}
# Neither the code nor the key makes another code or key.
b> x-vendor.arcpd.page #2
b< job.error {"payload":{"code":"PERMISSION_DENIED","message":"a page cannot make a code: sign in with a token"}}
d> session.hello #1 {"auth":{"scheme":"bearer","token":"$key"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.page_key"]}}
d< session.welcome {"payload":{"x-vendor.arcpd.view":{"principal":"alice","page_key":"$absent"}}}
audit< {"event":"authentication","decision":"allowed","principal":"alice","rule":"page key"}
d> x-vendor.arcpd.page #2
d< job.error {"payload":{"code":"PERMISSION_DENIED"}}
# A key is used again and again, until its page signs out.
d> session.close #3
d< session.closed
e> session.hello #1 {"auth":{"scheme":"bearer","token":"$key"}}
e< session.error {"payload":{"code":"UNAUTHENTICATED"}}
# A token brings a key, too, if the client asks for one. A page that goes away keeps it.
f> session.hello #1 {"auth":{"scheme":"bearer","token":"t-bob"},
    "capabilities":{"features":["x-vendor.arcpd.view","x-vendor.arcpd.page_key"]}}
f< session.welcome {"payload":{"x-vendor.arcpd.view":{"principal":"bob","page_key":"$bob"}}}
f> session.bye #2
g> session.hello #1 {"auth":{"scheme":"bearer","token":"$bob"},"capabilities":{"features":["x-vendor.arcpd.view"]}}
g< session.welcome {"payload":{"x-vendor.arcpd.view":{"principal":"bob","page_key":"$absent"}}}
h> session.hello #1 {"auth":{"scheme":"bearer","token":"page_key_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}
h< session.error {"payload":{"code":"UNAUTHENTICATED"}}
