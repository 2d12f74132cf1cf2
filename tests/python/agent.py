#!/usr/bin/python3
"""The agent of these tests: does what the input's member `do` names."""
import base64
import json
import sys


def send(type, /, **payload):
    print(json.dumps({"type": type, "payload": payload}), flush=True)


def event(kind, /, **body):
    send("job.event", kind=kind, body=body)


def echo(input):
    send("job.result", result=input, summary="as it came")


def count(input):
    text = "x" * input.get("size", 0)
    for number in range(input["to"]):
        event("log", level="info", message=f"{number}{text}")
    send("job.result", result=input["to"])


def wait(input):
    event("log", level="info", message="waiting")
    for line in sys.stdin:
        if json.loads(line)["type"] == "job.cancel":
            return


def fail(input):
    details = {"why": "test", **({"pad": "x" * input["pad"]} if "pad" in input else {})}
    send("job.error", code=input["code"], message="as requested", retryable=True, details=details)


def stream(input):
    pieces = [bytes([number]) * 1000 for number in range(input["pieces"])]
    for number, piece in enumerate(pieces):
        data = base64.b64encode(piece).decode()
        send("result.chunk", data=data, encoding="base64", more=number + 1 < len(pieces))
    send("job.result")


def spend(input):
    for amount in input["amounts"]:
        # The number is written as it is: no float comes between.
        print('{"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.test","value":'
              + amount + ',"unit":"USD"}}}', flush=True)
    send("job.result")


def delegate(input):
    send("delegate", agent="worker", input={"do": "echo"}, lease_request={}, delegate_id="d1", wait=True)


input = json.loads(sys.stdin.readline())["payload"].get("input") or {}
globals()[input.get("do", "echo")](input)
