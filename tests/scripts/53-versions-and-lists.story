# §7.5: a bare name is the default version, resolved at submit; grammar; filters on both.
# [arcp:7.5-1] [arcp:7.5-2] [arcp:7.5-3] [arcp:7.5-6] [arcp:7.5-8]
hello(a, alice)
a> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"work"}}
a< {"type":"job.accepted","job_id":"$one","payload":{"agent":"work@1.0.0"}}
a< {"job_id":"$one","payload":{"kind":"status"}}
a> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"work@2.0.0"}}
a< {"type":"job.accepted","job_id":"$two","payload":{"agent":"work@2.0.0"}}
a< {"job_id":"$two","payload":{"kind":"status"}}
a> {"arcp":"1.1","id":"3","type":"job.submit","payload":{"agent":"echo"}}
a< {"type":"job.accepted","job_id":"$three","payload":{"agent":"echo"}}
a< {"job_id":"$three","payload":{"kind":"status"}}
agent $two< {"type":"job.start","payload":{"agent":"work@2.0.0"}}
a> {"arcp":"1.1","id":"4","type":"job.submit","payload":{"agent":"echo@1"}}
a< {"type":"job.error","payload":{"code":"AGENT_VERSION_NOT_AVAILABLE"}}
a> {"arcp":"1.1","id":"5","type":"job.submit","payload":{"agent":"work@"}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"6","type":"job.submit","payload":{"agent":"Work@1.0.0"}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"7","type":"job.submit","payload":{"agent":"work@1@2"}}
a< {"type":"job.error","payload":{"code":"INVALID_REQUEST"}}
a> {"arcp":"1.1","id":"8","type":"session.list_jobs","payload":{"filter":{"agent":"work"}}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$one","agent":"work@1.0.0"},{"job_id":"$two","agent":"work@2.0.0"}]}}
a> {"arcp":"1.1","id":"9","type":"session.list_jobs","payload":{"filter":{"agent":"work@2.0.0"}}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$two"}]}}
agent $two> {"type":"job.result","payload":{}}
a< {"type":"job.result","job_id":"$two"}
a> {"arcp":"1.1","id":"10","type":"session.list_jobs","payload":{"filter":{"agent":"work","status":["running"]}}}
a< {"type":"session.jobs","payload":{"jobs":[{"job_id":"$one"}]}}
# Where versions were not negotiated they are not used.
b> {"arcp":"1.1","id":"h","type":"session.hello","payload":{"auth":{"scheme":"bearer","token":"t-alice"},"capabilities":{"features":[]}}}
b< {"type":"session.welcome","payload":{"capabilities":{"agents":["echo","work"]}}}
b> {"arcp":"1.1","id":"1","type":"job.submit","payload":{"agent":"work@2.0.0"}}
b< {"type":"job.error","payload":{"code":"INVALID_REQUEST","message":"an agent version needs the feature \"agent_versions\", which was not negotiated"}}
b> {"arcp":"1.1","id":"2","type":"job.submit","payload":{"agent":"work"}}
b< {"type":"job.accepted"}
