#!/usr/bin/env python3
"""Searches as long as it may; each search costs 40 cents."""
import json
import sys


def say(kind, payload, line_id=None):
    line = {"type": kind, "payload": payload}
    if line_id is not None:
        line["id"] = line_id
    print(json.dumps(line), flush=True)


def is_granted(line_id):
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("re") == line_id:
            return "error" not in message["payload"]
    sys.exit(1)


sys.stdin.readline()  # job.start
searches = 0
while searches < 2:
    call = {"tool": "search", "call_id": str(searches), "args": {}}
    say("job.event", {"kind": "tool_call", "body": call}, str(searches))
    if not is_granted(str(searches)):
        break
    searches += 1
    say("job.event", {"kind": "metric",
                      "body": {"name": "cost.search", "value": 0.40, "unit": "USD"}})
say("job.result", {"result": f"{searches} searches"})
