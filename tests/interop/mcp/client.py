"""The Python SDK's client: lists the tools of a server, calls some, and prints what comes as JSON.

    client.py MODE CALLS COMMAND...

MODE is legacy or auto (auto: protocol 2026-07-28 where the server has it); CALLS is JSON: [[name, arguments], ...].
A name like prompts/get is a method, whose result is the answer. `http URL KEY` in place of a command: a server that is reached by streamable HTTP.
"""
import asyncio
import contextlib
import json
import sys

import httpx2
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import PromptReference


def fetched(client, name, arguments):
    """The result of a method about resources or prompts."""
    return {"resources/list": client.list_resources, "resources/templates/list": client.list_resource_templates,
            "prompts/list": client.list_prompts, "resources/read": lambda: client.read_resource(**arguments),
            "prompts/get": lambda: client.get_prompt(**arguments),
            "completion/complete": lambda: client.complete(PromptReference(**arguments["ref"]), arguments["argument"])}[name]()


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
            if "/" in name:
                try:
                    result = await fetched(client, name, arguments)
                    answers.append([False, result.model_dump(mode="json", by_alias=True, exclude_none=True)])
                except MCPError as error:
                    answers.append([True, error.error.data])
                continue
            result = await client.call_tool(name, arguments, progress_callback=on_progress)
            answers.append([bool(result.is_error), result.content[0].text])
    print(json.dumps({"tools": tools, "answers": answers, "progress": progress}))


asyncio.run(main(*sys.argv[1:]))
