"""A runtime of the Python SDK for `make bench-peers`: the agents of bench/peer_host.c.

    runtime.py memory:|sqlite:PATH

Prints "ready URL" and serves until it is ended. What it keeps is the SDK's default, or its
SqliteEventLog. Everything else is as the SDK comes.
"""

import asyncio
import sys

from arcp import RuntimeInfo
from arcp.runtime import ARCPRuntime, SqliteEventLog, StaticBearerVerifier
from arcp._transport.websocket import serve_websocket

MESSAGE_BYTES = 64


async def bench(asked, context):
    events = asked["events"]
    for at in range(events):
        await context.log("info", f"{at} ".ljust(MESSAGE_BYTES, "."))
    return events


async def quick(asked, context):
    return 0


async def serve(store):
    log = SqliteEventLog(store.removeprefix("sqlite:")) if store.startswith("sqlite:") else None
    runtime = ARCPRuntime(
        runtime=RuntimeInfo(name="python-sdk", version="1.1.3"),
        bearer=StaticBearerVerifier({"bench": "bench"}),
        event_log=log,
    )
    runtime.register_agent("bench", bench)
    runtime.register_agent("quick", quick)
    server = await serve_websocket(runtime.accept, host="127.0.0.1", port=0, path="/arcp")
    async with server:
        port = server.sockets[0].getsockname()[1]
        print(f"ready ws://127.0.0.1:{port}/arcp", flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: runtime.py memory:|sqlite:PATH")
    asyncio.run(serve(sys.argv[1]))
