# §9.7: a model is requested by its name, in this spelling; a model that no pattern matches is refused.
# [arcp:9.7-1] [arcp:9.7-2] [arcp:LA-20] [arcp:LB-2]
hello a alice
a> job.submit #1 {"agent":"echo","lease_request":{"model.use":["tier-fast/*","gpt-4"]}}
a< job.accepted {"job_id":"$j","payload":{"lease":{"model.use":["tier-fast/*","gpt-4"]}}}
a< {"event_seq":1}
agent $j< {"type":"job.start"}
agent $j> {"type":"authorize","id":"1",
    "payload":{"capability":"model.use","target":"tier-fast/small"}}
agent $j< {"re":"1","payload":{"allow":true}}
agent $j> {"type":"authorize","id":"2",
    "payload":{"capability":"model.use","target":"tier-slow/small"}}
agent $j< {"re":"2","payload":{"error":{"code":"PERMISSION_DENIED","retryable":false,
    "details":{"capability":"model.use","target":"tier-slow/small"}}}}
agent $j> {"type":"authorize","id":"3","payload":{"capability":"model.use","target":"gpt-4o"}}
agent $j< {"re":"3","payload":{"error":{"code":"PERMISSION_DENIED"}}}
agent $j> {"type":"authorize","id":"4","payload":{"capability":"model.use","target":"GPT-4"}}
agent $j< {"re":"4","payload":{"error":{"code":"PERMISSION_DENIED"}}}
agent $j> {"type":"authorize","id":"5","payload":{"capability":"model.use","target":"gpt-4"}}
agent $j< {"re":"5","payload":{"allow":true}}
