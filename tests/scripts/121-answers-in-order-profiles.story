# docs/protocol.md, Sessions and Peer profiles: in the form of every profile, answers to submits keep the
# order of the submits, also those to a repeated key, a key that was used otherwise, and an envelope
# id that was used before.
profile ts-* * ts
profile py-* * python
profile cs-* * csharp

# ts
hello(t, alice, ts-app)
store holds
t> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-t"}}
t> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"nobody"}}
t> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-t","input":2}}
t> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-t"}}
t> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-t"}}
t> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo@@"}}
t> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"echo"}}
store writes
t< {"type":"job.accepted","id":"1","job_id":"$k_t"}
t< {"type":"job.error","id":"2","event_seq":"$_","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2"}}
t< {"type":"job.error","id":"3","event_seq":"$_","payload":{"code":"DUPLICATE_KEY","request_id":"3"}}
t< {"type":"job.accepted","id":"4","job_id":"$k_t"}
t< {"type":"job.accepted","id":"1","job_id":"$k_t"}
t< {"type":"job.error","id":"5","event_seq":"$_","payload":{"code":"INVALID_REQUEST","request_id":"5"}}
t< {"type":"job.accepted","id":"6","job_id":"$l_t"}
# go
hello(g, alice, arcp-go-client)
store holds
g> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-g"}}
g> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"nobody"}}
g> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-g","input":2}}
g> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-g"}}
g> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-g"}}
g> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo@@"}}
g> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"echo"}}
store writes
g< {"type":"job.accepted","id":"1","job_id":"$k_g"}
g< {"type":"session.error","id":"2","event_seq":"$absent","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2"}}
g< {"type":"session.error","id":"3","event_seq":"$absent","payload":{"code":"DUPLICATE_KEY","request_id":"3"}}
g< {"type":"job.accepted","id":"4","job_id":"$k_g"}
g< {"type":"job.accepted","id":"1","job_id":"$k_g"}
g< {"type":"session.error","id":"5","event_seq":"$absent","payload":{"code":"INVALID_REQUEST","request_id":"5"}}
g< {"type":"job.accepted","id":"6","job_id":"$l_g"}
# python
hello(p, alice, py-app)
store holds
p> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-p"}}
p> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"nobody"}}
p> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-p","input":2}}
p> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-p"}}
p> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-p"}}
p> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo@@"}}
p> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"echo"}}
store writes
p< {"type":"job.accepted","id":"1","job_id":"$k_p"}
p< {"type":"job.accepted","id":"2","job_id":"$p2","payload":{"request_id":"2"}}
p< {"type":"job.accepted","id":"3","job_id":"$p3","payload":{"request_id":"3"}}
p< {"type":"job.accepted","id":"4","job_id":"$k_p"}
p< {"type":"job.accepted","id":"1","job_id":"$k_p"}
p< {"type":"job.accepted","id":"5","job_id":"$p5","payload":{"request_id":"5"}}
p< {"type":"job.accepted","id":"6","job_id":"$l_p"}
p< {"type":"job.error","event_seq":"$_","job_id":"$p2","payload":{"code":"AGENT_NOT_AVAILABLE"}}
p< {"type":"job.error","event_seq":"$_","job_id":"$p3","payload":{"code":"DUPLICATE_KEY"}}
p< {"type":"job.error","event_seq":"$_","job_id":"$p5","payload":{"code":"INVALID_REQUEST"}}
# csharp
hello(c, alice, cs-app)
store holds
c> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-c"}}
c> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"nobody"}}
c> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-c","input":2}}
c> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-c"}}
c> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-c"}}
c> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo@@"}}
c> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"echo"}}
store writes
c< {"type":"job.accepted","id":"1","job_id":"$k_c"}
c< {"type":"session.error","id":"2","event_seq":"$absent","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2"}}
c< {"type":"session.error","id":"3","event_seq":"$absent","payload":{"code":"DUPLICATE_KEY","request_id":"3"}}
c< {"type":"job.accepted","id":"4","job_id":"$k_c"}
c< {"type":"job.accepted","id":"1","job_id":"$k_c"}
c< {"type":"session.error","id":"5","event_seq":"$absent","payload":{"code":"INVALID_REQUEST","request_id":"5"}}
c< {"type":"job.accepted","id":"6","job_id":"$l_c"}
# java
hello(j, alice, arcp-client-java)
store holds
j> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-j"}}
j> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"nobody"}}
j> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-j","input":2}}
j> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-j"}}
j> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-j"}}
j> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo@@"}}
j> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"echo"}}
store writes
j< {"type":"job.accepted","id":"1","job_id":"$k_j"}
j< {"type":"job.error","id":"2","event_seq":"$_","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2"}}
j< {"type":"job.error","id":"3","event_seq":"$_","payload":{"code":"DUPLICATE_KEY","request_id":"3"}}
j< {"type":"job.accepted","id":"4","job_id":"$k_j"}
j< {"type":"job.accepted","id":"1","job_id":"$k_j"}
j< {"type":"job.error","id":"5","event_seq":"$_","payload":{"code":"INVALID_REQUEST","request_id":"5"}}
j< {"type":"job.accepted","id":"6","job_id":"$l_j"}
# ruby
hello(r, alice, arcp-ruby)
store holds
r> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-r"}}
r> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"nobody"}}
r> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-r","input":2}}
r> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-r"}}
r> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"echo","idempotency_key":"k-r"}}
r> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"echo@@"}}
r> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"echo"}}
store writes
r< {"type":"job.accepted","id":"1","job_id":"$k_r"}
r< {"type":"job.error","id":"2","event_seq":"$_","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2"}}
r< {"type":"job.error","id":"3","event_seq":"$_","payload":{"code":"DUPLICATE_KEY","request_id":"3"}}
r< {"type":"job.accepted","id":"4","job_id":"$k_r"}
r< {"type":"job.accepted","id":"1","job_id":"$k_r"}
r< {"type":"job.error","id":"5","event_seq":"$_","payload":{"code":"INVALID_REQUEST","request_id":"5"}}
r< {"type":"job.accepted","id":"6","job_id":"$l_r"}
