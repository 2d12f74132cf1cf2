# If a lease without models may use every model, a ceiling without models still denies them all.
# [arcp:LA-10]
setting model_use.required false
policy {"principal":"alice","max_lease":{"tool.call":["**"]}}
policy {"principal":"bob","max_budget":["USD:5"]}
policy {"principal":"carol","max_lease":{},"max_budget":["USD:5"]}
hello a alice
hello b bob
hello c carol
a> job.submit #1 {"agent":"work","lease_request":{"tool.call":["t"]}}
a< job.accepted {"job_id":"$j","payload":{"lease":{"tool.call":["t"],"model.use":[]}}}
a< job.event {"payload":{"kind":"status"}}
agent $j< {"type":"job.start"}
agent $j> {"type":"authorize","id":"1","payload":{"capability":"model.use","target":"gpt-4"}}
agent $j< {"re":"1","payload":{"error":{"code":"PERMISSION_DENIED"}}}
# A policy row with only a budget restricts nothing else.
b> job.submit #1 {"agent":"work","lease_request":{"tool.call":["t"]}}
b< job.accepted {"job_id":"$k","payload":{"lease":{"tool.call":["t"],"cost.budget":["USD:5"]}}}
b< job.event {"payload":{"kind":"status"}}
agent $k< {"type":"job.start"}
agent $k> {"type":"authorize","id":"1","payload":{"capability":"model.use","target":"gpt-4"}}
agent $k< {"re":"1","payload":{"allow":true}}
# An empty max_lease denies everything, also together with a budget.
c> job.submit #1 {"agent":"work","lease_request":{"tool.call":["t"]}}
c< job.accepted {"payload":{"lease":{"tool.call":[],"model.use":[],"cost.budget":["USD:5"]}}}
c< job.event {"payload":{"kind":"status"}}
