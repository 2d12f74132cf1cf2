# §7.5: a bare name is the default version, resolved at submit; grammar; filters on both.
# [arcp:7.5-1] [arcp:7.5-2] [arcp:7.5-3] [arcp:7.5-6] [arcp:7.5-8]
hello a alice
a> job.submit #1 {"agent":"work"}
a< job.accepted {"job_id":"$one","payload":{"agent":"work@1.0.0"}}
a< {"job_id":"$one","payload":{"kind":"status"}}
a> job.submit #2 {"agent":"work@2.0.0"}
a< job.accepted {"job_id":"$two","payload":{"agent":"work@2.0.0"}}
a< {"job_id":"$two","payload":{"kind":"status"}}
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$three","payload":{"agent":"echo"}}
a< {"job_id":"$three","payload":{"kind":"status"}}
agent $two< {"type":"job.start","payload":{"agent":"work@2.0.0"}}
a> job.submit #4 {"agent":"echo@1"}
a< job.error {"payload":{"code":"AGENT_VERSION_NOT_AVAILABLE"}}
a> job.submit #5 {"agent":"work@"}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.submit #6 {"agent":"Work@1.0.0"}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> job.submit #7 {"agent":"work@1@2"}
a< job.error {"payload":{"code":"INVALID_REQUEST"}}
a> session.list_jobs #8 {"filter":{"agent":"work"}}
a< session.jobs {"payload":{"jobs":[{"job_id":"$one","agent":"work@1.0.0"},
    {"job_id":"$two","agent":"work@2.0.0"}]}}
a> session.list_jobs #9 {"filter":{"agent":"work@2.0.0"}}
a< session.jobs {"payload":{"jobs":[{"job_id":"$two"}]}}
agent $two> {"type":"job.result","payload":{}}
a< job.result {"job_id":"$two"}
a> session.list_jobs #10 {"filter":{"agent":"work","status":["running"]}}
a< session.jobs {"payload":{"jobs":[{"job_id":"$one"}]}}
# Where versions were not negotiated they are not used.
b> session.hello #h {"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":[]}}
b< session.welcome {"payload":{"capabilities":{"agents":["echo","work"]}}}
b> job.submit #1 {"agent":"work@2.0.0"}
b< job.error {"payload":{"code":"INVALID_REQUEST",
    "message":"an agent version needs the feature \"agent_versions\", which was not negotiated"}}
b> job.submit #2 {"agent":"work"}
b< job.accepted
