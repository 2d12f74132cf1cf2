# The audit log has the decisions with the principal and the rule.
# One shard: with several, a job of another principal is JOB_NOT_FOUND.
hello a alice
audit< {"event":"authentication","decision":"allowed","principal":"alice","session_id":"$_",
    "request":"session.hello"}
a> job.submit #1 {"agent":"echo","lease_request":{"fs.read":["/srv/**"],"agent.delegate":["echo"]}}
a< job.accepted {"job_id":"$j"}
audit< {"event":"submit","decision":"allowed","principal":"alice","job_id":"$j","agent":"echo",
    "trace_id":"$_","rule":"lease_request","lease_sha256":"$parent"}
agent $j< {"type":"job.start"}
agent $j> {"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/srv/a"}}
agent $j< {"type":"reply","payload":{"allow":true}}
agent $j> {"type":"authorize","id":"2","payload":{"capability":"fs.read","target":"/etc/passwd"}}
agent $j< {"type":"reply","payload":{"error":{"code":"PERMISSION_DENIED"}}}
# The allowed operations before are not in the log: audit.grants is off.
audit< {"event":"gate","decision":"denied","principal":"alice","job_id":"$j",
    "code":"PERMISSION_DENIED","rule":"lease","reason":"$_","capability":"fs.read",
    "target":"/etc/passwd"}
agent $j> {"type":"delegate","id":"3",
    "payload":{"agent":"echo","input":1,"lease_request":{"fs.read":["/srv/a"]}}}
agent $j< {"type":"reply","payload":{"job_id":"$k"}}
audit< {"event":"delegation","decision":"allowed","principal":"alice","job_id":"$k",
    "parent_job_id":"$j","target":"echo","lease_sha256":"$_","parent_lease_sha256":"$parent"}
agent $j> {"type":"delegate","id":"4",
    "payload":{"agent":"echo","input":1,"lease_request":{"fs.read":["/**"]}}}
agent $j< {"type":"reply","payload":{"error":{"code":"LEASE_SUBSET_VIOLATION"}}}
audit< {"event":"delegation","decision":"denied","job_id":"$j","code":"LEASE_SUBSET_VIOLATION",
    "parent_lease_sha256":"$parent"}
hello b bob
b> job.subscribe #1 {"job_id":"$j"}
b< job.error {"payload":{"code":"PERMISSION_DENIED"}}
audit< {"event":"subscribe","decision":"denied","principal":"bob","owner":"alice","job_id":"$j",
    "rule":"authorization.subscribe: same_principal"}
hello c alice
c> job.subscribe #1 {"job_id":"$j"}
c< job.subscribed
audit< {"event":"subscribe","decision":"allowed","principal":"alice","job_id":"$j"}
c> job.cancel #2 {"job_id":"$j"}
c< job.error {"payload":{"code":"PERMISSION_DENIED"}}
audit< {"event":"cancel","decision":"denied","principal":"alice","job_id":"$j",
    "code":"PERMISSION_DENIED","rule":"submitting session"}
b> {"arcp":"1.1","id":"2","type":"job.submit","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",
    "payload":{"agent":"nobody"}}
b< job.error {"payload":{"code":"AGENT_NOT_AVAILABLE"}}
audit< {"event":"submit","decision":"denied","principal":"bob","agent":"nobody",
    "trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","code":"AGENT_NOT_AVAILABLE"}
