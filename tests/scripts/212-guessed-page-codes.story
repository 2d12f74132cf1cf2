# docs/protocol.md, The view: codes cannot be guessed.
hello a alice
a> x-vendor.arcpd.page #1
a< x-vendor.arcpd.page.answer {"payload":{"code":"$code"}}
k> session.hello #1 {"auth":{"scheme":"bearer","token":"page_code_AAAAAAAAAAAAAAAAAAAAA0"}}
k< session.error {"payload":{"code":"UNAUTHENTICATED"}}
l> session.hello #1 {"auth":{"scheme":"bearer","token":"page_code_AAAAAAAAAAAAAAAAAAAAA1"}}
l< session.error {"payload":{"code":"UNAUTHENTICATED"}}
m> session.hello #1 {"auth":{"scheme":"bearer","token":"page_code_AAAAAAAAAAAAAAAAAAAAA2"}}
m< session.error {"payload":{"code":"UNAUTHENTICATED"}}
n> session.hello #1 {"auth":{"scheme":"bearer","token":"page_code_AAAAAAAAAAAAAAAAAAAAA3"}}
n< session.error {"payload":{"code":"UNAUTHENTICATED"}}
o> session.hello #1 {"auth":{"scheme":"bearer","token":"page_code_AAAAAAAAAAAAAAAAAAAAA4"}}
o< session.error {"payload":{"code":"UNAUTHENTICATED"}}
p> session.hello #1 {"auth":{"scheme":"bearer","token":"page_code_AAAAAAAAAAAAAAAAAAAAA5"}}
p< session.error {"payload":{"code":"UNAUTHENTICATED"}}
q> session.hello #1 {"auth":{"scheme":"bearer","token":"page_code_AAAAAAAAAAAAAAAAAAAAA6"}}
q< session.error {"payload":{"code":"UNAUTHENTICATED"}}
r> session.hello #1 {"auth":{"scheme":"bearer","token":"page_code_AAAAAAAAAAAAAAAAAAAAA7"}}
r< session.error {"payload":{"code":"UNAUTHENTICATED"}}
s> session.hello #1 {"auth":{"scheme":"bearer","token":"page_code_AAAAAAAAAAAAAAAAAAAAA8"}}
s< session.error {"payload":{"code":"UNAUTHENTICATED"}}
t> session.hello #1 {"auth":{"scheme":"bearer","token":"page_code_AAAAAAAAAAAAAAAAAAAAA9"}}
t< session.error {"payload":{"code":"UNAUTHENTICATED"}}
# After ten wrong codes none is taken, right ones included, for the rest of the minute. Keys and tokens are.
x> session.hello #1 {"auth":{"scheme":"bearer","token":"$code"}}
x< session.error {"payload":{"code":"UNAUTHENTICATED"}}
y> session.hello #1 {"auth":{"scheme":"bearer","token":"t-bob"}}
y< session.welcome
clock +60s
hello a alice
a> x-vendor.arcpd.page #2
a< x-vendor.arcpd.page.answer {"payload":{"code":"$second"}}
z> session.hello #1 {"auth":{"scheme":"bearer","token":"$second"}}
z< session.welcome
