#!/usr/bin/env python3
"""A small MCP server over stdio. It knows nothing of leases: it does what it is asked."""
import json
import sys

NOTES = {"/notes/public/a.txt": "water the plants", "/notes/secret/b.txt": "the safe is 1234"}


def schema(*names):
    return {"type": "object", "properties": {name: {"type": "string"} for name in names},
            "required": list(names)}


TOOLS = [
    {"name": "read", "description": "Reads a note", "inputSchema": schema("path")},
    {"name": "delete", "description": "Deletes a note", "inputSchema": schema("path")},
]


def call(name, arguments):
    path = arguments["path"]
    if path not in NOTES:
        return {"isError": True, "content": [{"type": "text", "text": "no such note"}]}
    text = NOTES[path] if name == "read" else NOTES.pop(path) and "deleted"
    return {"content": [{"type": "text", "text": text}]}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue  # a notification
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "notes", "version": "1.0.0"}}
    elif request["method"] == "tools/list":
        answer["result"] = {"tools": TOOLS}
    elif request["method"] == "tools/call":
        answer["result"] = call(request["params"]["name"], request["params"]["arguments"])
    else:
        answer["error"] = {"code": -32601, "message": "method not found"}
    print(json.dumps(answer), flush=True)
