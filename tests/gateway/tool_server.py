"""An MCP server for tests, over standard input and output. The tools do what their names say."""
import json
import os
import sys
import urllib.request

TOOLS = ["echo", "env", "pid", "slow", "hang", "die", "odd.name", "read", "fetch"]
cancelled = open(sys.argv[1], "a") if len(sys.argv) > 1 else None


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")), flush=True)


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def read(path):
    with open(path) as file:
        return file.read()


def fetch(url):
    with urllib.request.urlopen(url, timeout=20) as response:
        return response.read().decode()


def call(request, name, params):
    if name in ("read", "fetch"):
        try:
            words = {"read": read, "fetch": fetch}[name](params["arguments"]["of"])
        except OSError as problem:
            words = "no: " + type(problem).__name__
        send({"id": request["id"], "result": text(words)})
        return
    if name == "hang":
        send({"method": "notifications/progress", "params": {
            "progressToken": params.get("_meta", {}).get("progressToken"), "progress": 1}})
        return
    if name == "die":
        sys.exit(3)
    if name == "slow":
        for step in range(2):
            send({"method": "notifications/progress",
                  "params": {"progressToken": params["_meta"]["progressToken"], "progress": step}})
    result = {"env": lambda: ",".join(sorted(os.environ)), "pid": lambda: str(os.getpid())}.get(
        name, lambda: name + " " + json.dumps(params.get("arguments"), separators=(",", ":")))()
    send({"id": request["id"], "result": text(result)})


for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if method == "initialize":
        send({"id": request["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {},
                                              "serverInfo": {"name": "t", "version": "1"}}})
    elif method == "tools/list":
        send({"id": request["id"],
              "result": {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in TOOLS]}})
    elif method == "tools/call":
        call(request, request["params"]["name"], request["params"])
    elif method == "notifications/cancelled" and cancelled:
        cancelled.write("cancelled " + request["params"]["reason"] + "\n")
        cancelled.flush()
