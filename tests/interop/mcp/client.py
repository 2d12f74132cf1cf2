"""The Python SDK's client: lists the tools of a server, calls some, and prints what comes as JSON.

    client.py MODE CALLS COMMAND...

MODE is legacy or auto (auto: protocol 2026-07-28 where the server has it); CALLS is JSON: [[name, arguments], ...].
`http URL KEY` in place of a command: a server that is reached by streamable HTTP.
"""
import asyncio
import contextlib
import json
import sys

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


async def main(mode, calls, command, *words):
    answers, progress = [], []

    async def on_progress(done, total, message):
        progress.append([done, total])

    async with contextlib.AsyncExitStack() as stack:
        if command == "http":
            http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {words[1]}"}, timeout=60)
            transport = streamable_http_client(words[0], http_client=await stack.enter_async_context(http))
        else:
            transport = stdio_client(StdioServerParameters(command=command, args=words))
        client = await stack.enter_async_context(Client(transport, mode=mode))
        tools = [tool.name for tool in (await client.list_tools()).tools]
        for name, arguments in json.loads(calls):
            result = await client.call_tool(name, arguments, progress_callback=on_progress)
            answers.append([bool(result.is_error), result.content[0].text])
    print(json.dumps({"tools": tools, "answers": answers, "progress": progress}))


asyncio.run(main(*sys.argv[1:]))
