"""The Python SDK's client: lists the tools of a server, calls some, and prints what comes as JSON.

    client.py MODE CALLS COMMAND...

MODE is legacy or auto (auto: protocol 2026-07-28 where the server has it); CALLS is JSON: [[name, arguments], ...].
"""
import asyncio
import json
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def main(mode, calls, command, *words):
    answers, progress = [], []

    async def on_progress(done, total, message):
        progress.append([done, total])

    parameters = StdioServerParameters(command=command, args=words)
    async with Client(stdio_client(parameters), mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        for name, arguments in json.loads(calls):
            result = await client.call_tool(name, arguments, progress_callback=on_progress)
            answers.append([bool(result.is_error), result.content[0].text])
    print(json.dumps({"tools": tools, "answers": answers, "progress": progress}))


asyncio.run(main(*sys.argv[1:]))
