#!/usr/bin/env python3
"""An agent in Python: says how far it is, asks before it reads, calls a tool, returns a result."""
import json
import sys


class Refused(Exception):
    """The runtime answered with an error."""


def say(kind, payload, line_id=None):
    line = {"type": kind, "payload": payload}
    if line_id is not None:
        line["id"] = line_id
    print(json.dumps(line), flush=True)


def ask(kind, payload, line_id):
    """Says a line and waits for its answer."""
    say(kind, payload, line_id)
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "job.cancel":
            sys.exit(1)
        if message.get("re") == line_id:
            if "error" in message["payload"]:
                raise Refused(message["payload"]["error"]["code"])
            return message["payload"]
    sys.exit(1)


def event(kind, body):
    say("job.event", {"kind": kind, "body": body})


def main():
    name = json.loads(sys.stdin.readline())["payload"]["input"]["name"]
    event("progress", {"current": 1, "total": 2})
    wanted = "read /srv/hello.txt"
    try:
        ask("authorize", {"capability": "fs.read", "target": "/srv/hello.txt"}, "1")
        wanted = "call greet.compose"
        call = {"tool": "greet.compose", "call_id": "c1", "args": {"name": name}}
        ask("job.event", {"kind": "tool_call", "body": call}, "2")
    except Refused as refusal:
        say("job.error", {"code": str(refusal), "message": "I may not " + wanted})
        return
    greeting = "hello, " + name
    event("tool_result", {"call_id": "c1", "result": greeting})
    event("progress", {"current": 2, "total": 2})
    say("job.result", {"result": greeting})


main()
