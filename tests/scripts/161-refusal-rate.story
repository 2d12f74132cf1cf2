# Limits: above the rate of refusals every request still gets a response, but later.
setting limits.refusals_per_sec 1
setting limits.refusal_burst 2
hello a alice
hello b bob
a> job.submit #1 {"agent":"nobody"}
a< job.error {"id":"1","payload":{"code":"AGENT_NOT_AVAILABLE"}}
a> job.cancel #2 {"job_id":"nothing"}
a< job.error {"id":"2","payload":{"code":"JOB_NOT_FOUND"}}
a> job.submit #3 {"agent":"nobody"}
a> job.submit #4 {"agent":"echo"}
a< nothing
b> job.submit #1 {"agent":"nobody"}
b< job.error {"id":"1","payload":{"code":"AGENT_NOT_AVAILABLE"}}
clock +999ms
a< nothing
clock +1ms
a< job.error {"id":"3","payload":{"code":"AGENT_NOT_AVAILABLE"}}
a< nothing
clock +1s
a< job.accepted {"job_id":"$j1"}
