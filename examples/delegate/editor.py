#!/usr/bin/env python3
"""Has `reader` read a file, twice: once within its own lease, once beyond it."""
import json
import sys


def say(kind, payload, line_id=None):
    line = {"type": kind, "payload": payload}
    if line_id is not None:
        line["id"] = line_id
    print(json.dumps(line), flush=True)


def answer_to(line_id):
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("re") == line_id:
            return message["payload"]
    sys.exit(1)


def have_read(line_id, pattern):
    say("delegate", {
        "agent": "reader",
        "input": {"path": "/srv/report.txt"},
        "lease_request": {"fs.read": [pattern]},
        "delegate_id": line_id,
        "wait": True,
    }, line_id)
    return answer_to(line_id)


sys.stdin.readline()  # job.start
child = have_read("d1", "/srv/report.txt")
print("the reader said:", child["result"], flush=True)
child = have_read("d2", "/etc/**")
print("refused:", child["error"]["code"], flush=True)
say("job.result", {"result": "edited"})
