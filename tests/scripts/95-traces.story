# §11: the trace of the submit is on every frame of its job, and goes to the agent and to its
# children as a whole context.
# [arcp:11-1] [arcp:11-2]
hello a alice
a> {"arcp":"1.1","id":"1","type":"job.submit","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",
    "extensions":{"x-vendor.opentelemetry.tracecontext":{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}},"payload":{"agent":"echo","lease_request":{"agent.delegate":["**"]}}}
a< job.accepted {"job_id":"$j","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}
a< {"event_seq":1,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}
agent $j< {"type":"job.start","payload":{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",
    "traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}
agent $j> {"type":"delegate","id":"d","payload":{"agent":"work"}}
a< job.accepted {"job_id":"$c","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}
a< {"event_seq":2,"job_id":"$j","payload":{"kind":"delegate"}}
a< {"event_seq":3,"job_id":"$c","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}
agent $c< {"type":"job.start","payload":{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",
    "traceparent":"$_"}}
agent $c> {"type":"job.result","payload":{"result":1}}
a< job.result {"job_id":"$c","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}
agent $j> {"type":"job.result","payload":{"result":1}}
a< job.result {"job_id":"$j","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}
# A submit without a trace gets a new one.
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$k","trace_id":"$own"}
a< {"job_id":"$k","trace_id":"$own"}
agent $k< {"type":"job.start","payload":{"trace_id":"$own"}}
