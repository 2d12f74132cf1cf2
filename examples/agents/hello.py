#!/usr/bin/env python3
"""An agent in Python: reports progress, asks before it reads, calls a tool, returns a result."""
import arcp_agent


def hello(job):
    job.progress(1, total=2)
    if not job.allowed("fs.read", "/srv/hello.txt"):
        job.fail("PERMISSION_DENIED", "I may not read /srv/hello.txt")
    try:
        with job.tool("greet.compose", {"name": job.input["name"]}) as call:
            call.result = "hello, " + job.input["name"]
    except arcp_agent.Denied as denied:
        job.fail(denied.code, "I may not call greet.compose")
    job.progress(2, total=2)
    return call.result


arcp_agent.serve(hello)
