"""The gate, between a model and an MCP server: no tool call passes that the lease does not allow."""
import json
import subprocess
import sys


class Denied(Exception):
    """The lease does not allow it; the argument is the error's code."""


class Runtime:
    """The agent's side of the line protocol (arcp-agent(7))."""

    def __init__(self):
        self.start = json.loads(sys.stdin.readline())["payload"]
        self.asked = 0

    def say(self, kind, payload, line_id=None):
        line = {"type": kind, "payload": payload}
        if line_id is not None:
            line["id"] = line_id
        print(json.dumps(line), flush=True)

    def ask(self, kind, payload):
        """Says a line and waits; whatever is not a clear answer without an error denies."""
        self.asked += 1
        line_id = f"q{self.asked}"
        self.say(kind, payload, line_id)
        for line in sys.stdin:
            message = json.loads(line)
            if message.get("re") == line_id:
                if "error" in message["payload"]:
                    raise Denied(message["payload"]["error"]["code"])
                return message["payload"]
        raise Denied("the runtime is gone")

    def event(self, kind, body):
        self.say("job.event", {"kind": kind, "body": body})


class GatedServer:
    """An MCP server over stdio whose tools are called only after the gate has agreed."""

    def __init__(self, runtime, command):
        self.runtime = runtime
        self.calls = 0
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "gate", "version": "1.0.0"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.calls += 1
        self.send({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params})
        return json.loads(self.process.stdout.readline())["result"]

    def tools(self):
        return [tool["name"] for tool in self.request("tools/list", {})["tools"]]

    def call(self, tool, arguments):
        """First the tool, then what it is going to touch; only then the server."""
        call_id = f"c{self.calls}"
        self.runtime.ask("job.event", {"kind": "tool_call", "body": {
            "tool": tool, "call_id": call_id, "args": arguments}})
        try:
            if "path" in arguments:
                self.runtime.ask("authorize", {
                    "capability": "fs.read" if tool.endswith(".read") else "fs.write",
                    "target": arguments["path"]})
        except Denied as denied:
            self.runtime.event("tool_result", {"call_id": call_id, "error": {
                "code": str(denied), "message": "not this note", "retryable": False}})
            raise
        text = self.request("tools/call", {"name": tool, "arguments": arguments})
        self.runtime.event("tool_result", {"call_id": call_id, "result": text["content"][0]["text"]})
        return text["content"][0]["text"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
