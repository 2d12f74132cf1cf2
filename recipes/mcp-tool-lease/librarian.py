#!/usr/bin/env python3
"""An agent with MCP tools. What a model would choose to call is written down here."""
import json
import os
import urllib.request

WISHES = [("notes__read", "/notes/public/a.txt"), ("notes__read", "/notes/public/../secret/b.txt"),
          ("notes__read", "/notes/secret/b.txt"), ("notes__delete", "/notes/public/a.txt")]


def ask(method, params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(os.environ["ARCP_MCP_URL"], body, {
        "Authorization": "Bearer " + os.environ["ARCP_MCP_KEY"], "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["result"]


lines = ["tools: " + ", ".join(tool["name"] for tool in ask("tools/list", {})["tools"])]
for tool, path in WISHES:
    result = ask("tools/call", {"name": tool, "arguments": {"path": path}})
    text = result["content"][0]["text"]
    lines.append(f"{tool} {path}: {json.loads(text)['code'] if result.get('isError') else text}")
print(json.dumps(lines))
