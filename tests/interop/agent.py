#!/usr/bin/env python3
"""The agents of arcpd for the scenarios of tests/interop: agent.py NAME."""
import json
import os
import sys
import time


class Refused(Exception):
    """The error that arcpd returned."""


def read():
    return json.loads(sys.stdin.readline())


def tell(kind, /, **payload):
    print(json.dumps({"type": kind, "payload": payload}), flush=True)


def event(kind, /, **body):
    tell("job.event", kind=kind, body=body)


def ask(kind, /, **payload):
    print(json.dumps({"type": kind, "id": "1", "payload": payload}), flush=True)
    answer = read()
    if answer["type"] != "reply" or "error" in answer["payload"]:
        raise Refused(answer["payload"].get("error", answer))
    return answer["payload"]


def echo(value):
    event("log", level="info", message="echo")
    return value


def kinds(value):
    event("log", level="warn", message="a log")
    event("thought", text="a thought")
    event("tool_call", tool="search", args={"q": "x"}, call_id="c1")
    event("tool_result", call_id="c1", result=3)
    event("status", phase="halfway", message="a status")
    event("metric", name="tokens.in", value=12, unit="tokens")
    event("progress", current=1, total=2, units="pages", message="a page")
    event("artifact_ref", uri="file:///a.txt", content_type="text/plain")
    event("x-vendor.acme.note", text="a note")


def fails(value):
    raise Refused({"code": "INVALID_REQUEST", "message": "the input is odd"})


def waits(value):
    event("status", phase="waiting")
    read()  # job.cancel, whatever the reason
    raise Refused({"code": "CANCELLED", "message": "asked to end"})


def gated(value):
    """Some progress, and the rest when the file `gate` exists."""
    event("progress", current=1, total=3)
    while not os.path.exists(value["gate"]):
        time.sleep(0.01)
    event("progress", current=2, total=3)
    event("progress", current=3, total=3)
    return "open"


def spends(value):
    for _ in range(2):
        ask("authorize", capability="tool.call", target="search")
        ask("job.event", kind="metric",
            body={"name": "cost.search", "value": 0.6, "unit": "USD"})
    ask("authorize", capability="tool.call", target="search")
    return "not stopped"


def delegates(value):
    return ask("delegate", agent="echo", input=value, wait=True)["result"]


def chunks(value):
    tell("result.chunk", data="b25lIA==", encoding="base64", more=True)
    tell("result.chunk", data="dHdvIP8g", encoding="base64", more=True)
    tell("result.chunk", data="dGhyZWU=", encoding="base64", more=False)


def mixed(value):
    tell("result.chunk", data="one ", encoding="utf8", more=True)
    tell("result.chunk", data="dHdvIP8g", encoding="base64", more=True)
    tell("result.chunk", data="three", encoding="utf8", more=False)


def steps(value):
    for number in range(value["steps"]):
        event("progress", current=number + 1)
    return value["name"]


def greet_1(value):
    return "hello from 1.0.0"


def greet_2(value):
    return "hello from 2.0.0"


def main():
    name = sys.argv[1]
    start = read()["payload"]
    try:
        result = globals()[name](start.get("input"))
    except Refused as refused:
        tell("job.error", **refused.args[0])
        return
    if name in ("chunks", "mixed"):
        tell("job.result")
    else:
        tell("job.result", result=result)


main()
