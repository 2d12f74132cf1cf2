#!/usr/bin/env python3
"""The SDK's runtime with the agents that every scenario of tests/interop knows.

    runtime.py [--stdio] TOKEN OTHER_TOKEN

Prints `ready URL`. Ends with its standard input.
"""
import asyncio
import sys

from arcp import InvalidRequestError, RuntimeInfo, StdioTransport, serve_websocket
from arcp.runtime import (ARCPRuntime, InMemoryCredentialProvisioner, InMemoryRevocationLog,
                          StaticBearerVerifier)

HEARTBEAT_SEC = 1


async def echo(value, ctx):
    await ctx.log("info", "echo")
    return value


async def mirror(value, ctx):
    return value


async def kinds(value, ctx):
    await ctx.log("warn", "a log")
    await ctx.thought("a thought")
    await ctx.tool_call({"tool": "search", "args": {"q": "x"}, "call_id": "c1"})
    await ctx.tool_result({"call_id": "c1", "result": 3})
    await ctx.status("halfway", "a status")
    await ctx.metric({"name": "tokens.in", "value": 12, "unit": "tokens"})
    await ctx.progress(1, total=2, units="pages", message="a page")
    await ctx.job.emit_event("artifact_ref", {"uri": "file:///a.txt", "content_type": "text/plain"})
    await ctx.job.emit_event("x-vendor.acme.note", {"text": "a note"})
    return None


async def fails(value, ctx):
    raise InvalidRequestError("the input is odd")


async def waits(value, ctx):
    await ctx.status("waiting")
    await asyncio.Event().wait()


async def gated(value, ctx):
    """Some progress, then the rest once the file `gate` is there."""
    await ctx.progress(1, total=3)
    while not await asyncio.to_thread(exists, value["gate"]):
        await asyncio.sleep(0.01)
    await ctx.progress(2, total=3)
    await ctx.progress(3, total=3)
    return "open"


def exists(path):
    try:
        with open(path, "rb"):
            return True
    except FileNotFoundError:
        return False


async def spends(value, ctx):
    for _ in range(2):
        ctx.authorize("tool.call", "search")
        await ctx.metric({"name": "cost.search", "value": 0.6, "unit": "USD"})
    ctx.authorize("tool.call", "search")
    return "not stopped"


async def delegates(value, ctx):
    if not hasattr(ctx, "delegate"):
        raise InvalidRequestError("the SDK's agents have no way to start a child job")
    return await ctx.delegate("echo", value)


async def chunks(value, ctx):
    async with ctx.stream_result() as stream:
        await stream.write(b"one ")
        await stream.write(b"two \xff ")
        await stream.write(b"three")


async def mixed(value, ctx):
    async with ctx.stream_result() as stream:
        await stream.write("one ")
        await stream.write(b"two \xff ")
        await stream.write("three")


async def greet_1(value, ctx):
    return "hello from 1.0.0"


async def greet_2(value, ctx):
    return "hello from 2.0.0"


def new_runtime(token, other):
    runtime = ARCPRuntime(
        runtime=RuntimeInfo(name="interop-python", version="1"),
        bearer=StaticBearerVerifier({token: "me", other: "other"}),
        heartbeat_interval_sec=HEARTBEAT_SEC,
        credential_provisioner=InMemoryCredentialProvisioner(),
        revocation_log=InMemoryRevocationLog())
    for agent in (echo, mirror, kinds, fails, waits, gated, spends, delegates, chunks, mixed):
        runtime.register_agent(agent.__name__, agent)
    runtime.register_agent_version("greet", "1.0.0", greet_1)
    runtime.register_agent_version("greet", "2.0.0", greet_2)
    runtime.set_default_agent_version("greet", "2.0.0")
    return runtime


async def stdin_ended():
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def main(words):
    runtime = new_runtime(*words[-2:])
    if words[0] == "--stdio":
        await runtime.accept(await StdioTransport.from_std_streams())
    else:
        server = await serve_websocket(runtime.accept, host="127.0.0.1", port=0)
        port = server.sockets[0].getsockname()[1]
        print(f"ready ws://127.0.0.1:{port}/arcp", flush=True)
        await stdin_ended()
        server.close()
    await runtime.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
