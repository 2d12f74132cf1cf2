"""The agents of helpers_test.py, with a handler that is an `async def`: the input's `do` says which one."""
import asyncio
import gc
import sys
import threading
from decimal import Decimal

import arcp_agent


async def echo(job):
    print("a print")
    await job.log("a\nline", level="warn")
    await job.progress(1, total=2, units="files")
    return {"input": job.input, "cwd": job.cwd, "lease": job.lease, "id": job.id}


async def ask(job):
    await job.authorize("fs.read", "/srv/a")
    return await job.allowed("fs.read", "/srv/b")


async def denied(job):
    try:
        await job.authorize("fs.read", "/etc/shadow")
    except arcp_agent.Denied as error:
        await job.log(f"{error.code} {error.granted}")
        raise


async def spend(job):
    before = job.budget["USD"]
    left = (await job.spend("USD", "0.1234567890123456789", what="search"))["USD"]
    try:
        await job.spend("USD", 0.5)
    except TypeError:
        await job.log("no float")
    return [str(before), str(left), str(job.budget["USD"])]


async def tools(job):
    async with job.tool("web.search", {"q": "x"}) as call:
        call.result = ["found"]
    try:
        async with job.tool("web.fails"):
            raise ValueError("no network")
    except ValueError:
        pass
    async with job.tool("web.denied"):
        await job.log("never")


async def delegate(job):
    child = await job.delegate("reader", {"path": "/a"}, lease={"fs.read": ["/a"]}, expires_at="2030-01-01T00:00:00Z")
    failed = await job.delegate("reader", delegate_id="d2")
    assert not failed.succeeded and failed.error["code"] == "TIMEOUT"
    await job.delegate("reader", lease={"fs.read": ["/**"]})
    return child.result


async def stream(job):
    async with job.stream() as out:
        await out.write("é" * 300_000)
        await out.write(b"\x00\xff")
        await out.write(b"\x01")
        await out.write("end")
    return "four pieces"


async def cancel(job):
    await job.log("waits")
    try:
        await asyncio.sleep(3600)
    finally:  # the handler's task is cancelled
        assert await job.cancelled.wait() and job.cancelled.grace_ms == 3000


async def crash(job):
    raise KeyError("no such thing")


async def bad_result(job):
    return {"a": {1, 2}}


async def fail(job):
    job.fail("x-vendor.example.BUSY", "try again", retryable=True, details={"retry_after_ms": 5})


async def many(job):
    async def write(number):
        for i in range(100):
            await job.metric(f"m{number}", Decimal(i) / 10, unit="s")
    await asyncio.gather(*(write(number) for number in range(8)))


async def rotate(job):
    await job.authorize("fs.read", "/srv/a")
    return [one["value"] for one in job.credentials]


async def wait_for_reply(job):
    await job.authorize("fs.read", "/srv/a")


async def kept(job):
    gc.collect()
    return [sum(isinstance(one, arcp_agent.AsyncJob) for one in gc.get_objects()),
            sum(isinstance(one, threading.Timer) for one in threading.enumerate())]


async def handle(job):
    return await globals()[job.input["do"]](job)

if __name__ == "__main__":
    arcp_agent.serve(handle)
    sys.exit(0)
