# id that was used before.
# docs/protocol.md, Sessions and Peer profiles: in every profile, responses are in the order of the submits,
# also those to a repeated key, a key used with other parameters, and a repeated envelope id.
# id that was used before.
profile ts-* * ts
profile py-* * python
profile cs-* * csharp

# ts
hello_as t alice ts-app
store holds
t> job.submit #1 {"agent":"echo","idempotency_key":"k-t"}
t> job.submit #2 {"agent":"nobody"}
t> job.submit #3 {"agent":"echo","idempotency_key":"k-t","input":2}
t> job.submit #4 {"agent":"echo","idempotency_key":"k-t"}
t> job.submit #1 {"agent":"echo","idempotency_key":"k-t"}
t> job.submit #5 {"agent":"echo@@"}
t> job.submit #6 {"agent":"echo"}
store writes
t< job.accepted {"id":"1","job_id":"$k_t"}
t< job.error {"id":"2","event_seq":"$_","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2"}}
t< job.error {"id":"3","event_seq":"$_","payload":{"code":"DUPLICATE_KEY","request_id":"3"}}
t< job.accepted {"id":"4","job_id":"$k_t"}
t< job.accepted {"id":"1","job_id":"$k_t"}
t< job.error {"id":"5","event_seq":"$_","payload":{"code":"INVALID_REQUEST","request_id":"5"}}
t< job.accepted {"id":"6","job_id":"$l_t"}
# go
hello_as g alice arcp-go-client
store holds
g> job.submit #1 {"agent":"echo","idempotency_key":"k-g"}
g> job.submit #2 {"agent":"nobody"}
g> job.submit #3 {"agent":"echo","idempotency_key":"k-g","input":2}
g> job.submit #4 {"agent":"echo","idempotency_key":"k-g"}
g> job.submit #1 {"agent":"echo","idempotency_key":"k-g"}
g> job.submit #5 {"agent":"echo@@"}
g> job.submit #6 {"agent":"echo"}
store writes
g< job.accepted {"id":"1","job_id":"$k_g"}
g< session.error {"id":"2","event_seq":"$absent",
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2"}}
g< session.error {"id":"3","event_seq":"$absent",
    "payload":{"code":"DUPLICATE_KEY","request_id":"3"}}
g< job.accepted {"id":"4","job_id":"$k_g"}
g< job.accepted {"id":"1","job_id":"$k_g"}
g< session.error {"id":"5","event_seq":"$absent",
    "payload":{"code":"INVALID_REQUEST","request_id":"5"}}
g< job.accepted {"id":"6","job_id":"$l_g"}
# python
hello_as p alice py-app
store holds
p> job.submit #1 {"agent":"echo","idempotency_key":"k-p"}
p> job.submit #2 {"agent":"nobody"}
p> job.submit #3 {"agent":"echo","idempotency_key":"k-p","input":2}
p> job.submit #4 {"agent":"echo","idempotency_key":"k-p"}
p> job.submit #1 {"agent":"echo","idempotency_key":"k-p"}
p> job.submit #5 {"agent":"echo@@"}
p> job.submit #6 {"agent":"echo"}
store writes
p< job.accepted {"id":"1","job_id":"$k_p"}
p< job.accepted {"id":"2","job_id":"$p2","payload":{"request_id":"2"}}
p< job.accepted {"id":"3","job_id":"$p3","payload":{"request_id":"3"}}
p< job.accepted {"id":"4","job_id":"$k_p"}
p< job.accepted {"id":"1","job_id":"$k_p"}
p< job.accepted {"id":"5","job_id":"$p5","payload":{"request_id":"5"}}
p< job.accepted {"id":"6","job_id":"$l_p"}
p< job.error {"event_seq":"$_","job_id":"$p2","payload":{"code":"AGENT_NOT_AVAILABLE"}}
p< job.error {"event_seq":"$_","job_id":"$p3","payload":{"code":"DUPLICATE_KEY"}}
p< job.error {"event_seq":"$_","job_id":"$p5","payload":{"code":"INVALID_REQUEST"}}
# csharp
hello_as c alice cs-app
store holds
c> job.submit #1 {"agent":"echo","idempotency_key":"k-c"}
c> job.submit #2 {"agent":"nobody"}
c> job.submit #3 {"agent":"echo","idempotency_key":"k-c","input":2}
c> job.submit #4 {"agent":"echo","idempotency_key":"k-c"}
c> job.submit #1 {"agent":"echo","idempotency_key":"k-c"}
c> job.submit #5 {"agent":"echo@@"}
c> job.submit #6 {"agent":"echo"}
store writes
c< job.accepted {"id":"1","job_id":"$k_c"}
c< session.error {"id":"2","event_seq":"$absent",
    "payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2"}}
c< session.error {"id":"3","event_seq":"$absent",
    "payload":{"code":"DUPLICATE_KEY","request_id":"3"}}
c< job.accepted {"id":"4","job_id":"$k_c"}
c< job.accepted {"id":"1","job_id":"$k_c"}
c< session.error {"id":"5","event_seq":"$absent",
    "payload":{"code":"INVALID_REQUEST","request_id":"5"}}
c< job.accepted {"id":"6","job_id":"$l_c"}
# java
hello_as j alice arcp-client-java
store holds
j> job.submit #1 {"agent":"echo","idempotency_key":"k-j"}
j> job.submit #2 {"agent":"nobody"}
j> job.submit #3 {"agent":"echo","idempotency_key":"k-j","input":2}
j> job.submit #4 {"agent":"echo","idempotency_key":"k-j"}
j> job.submit #1 {"agent":"echo","idempotency_key":"k-j"}
j> job.submit #5 {"agent":"echo@@"}
j> job.submit #6 {"agent":"echo"}
store writes
j< job.accepted {"id":"1","job_id":"$k_j"}
j< job.error {"id":"2","event_seq":"$_","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2"}}
j< job.error {"id":"3","event_seq":"$_","payload":{"code":"DUPLICATE_KEY","request_id":"3"}}
j< job.accepted {"id":"4","job_id":"$k_j"}
j< job.accepted {"id":"1","job_id":"$k_j"}
j< job.error {"id":"5","event_seq":"$_","payload":{"code":"INVALID_REQUEST","request_id":"5"}}
j< job.accepted {"id":"6","job_id":"$l_j"}
# ruby
hello_as r alice arcp-ruby
store holds
r> job.submit #1 {"agent":"echo","idempotency_key":"k-r"}
r> job.submit #2 {"agent":"nobody"}
r> job.submit #3 {"agent":"echo","idempotency_key":"k-r","input":2}
r> job.submit #4 {"agent":"echo","idempotency_key":"k-r"}
r> job.submit #1 {"agent":"echo","idempotency_key":"k-r"}
r> job.submit #5 {"agent":"echo@@"}
r> job.submit #6 {"agent":"echo"}
store writes
r< job.accepted {"id":"1","job_id":"$k_r"}
r< job.error {"id":"2","event_seq":"$_","payload":{"code":"AGENT_NOT_AVAILABLE","request_id":"2"}}
r< job.error {"id":"3","event_seq":"$_","payload":{"code":"DUPLICATE_KEY","request_id":"3"}}
r< job.accepted {"id":"4","job_id":"$k_r"}
r< job.accepted {"id":"1","job_id":"$k_r"}
r< job.error {"id":"5","event_seq":"$_","payload":{"code":"INVALID_REQUEST","request_id":"5"}}
r< job.accepted {"id":"6","job_id":"$l_r"}
