#!/usr/bin/env python3
"""Gives parts of its work to workers, each with a share of its own budget."""
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


def hand_on(part, share):
    """Has a worker do a part for at most `share`; what came of it, in a line."""
    lease = {"tool.call": ["search"]}
    if share is not None:
        lease["cost.budget"] = ["USD:" + share]
    say("delegate", {"agent": "worker", "input": {"part": part}, "lease_request": lease,
                     "delegate_id": part, "wait": True}, part)
    child = answer_to(part)
    if "error" in child:
        return f"{part}: {child['error']['code']}"
    return f"{part}: {child['result']}"


sys.stdin.readline()  # job.start
# Two shares of one dollar out of 2.50. Each worker spends 0.80 of its share, so 1.70 and then 0.90 are
# left.
for name, money in (("north", "1.00"), ("south", "1.00"), ("east", "1.00"), ("west", "0.50"),
                    ("rest", None)):
    print(hand_on(name, money), flush=True)
say("job.result", {"result": "planned"})
