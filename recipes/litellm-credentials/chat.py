#!/usr/bin/env python3
"""Asks a model through the gateway, with the key that was made for this very job."""
import json
import sys
import urllib.error
import urllib.request


def say(kind, payload):
    print(json.dumps({"type": kind, "payload": payload}), flush=True)


start = json.loads(sys.stdin.readline())["payload"]
key = start["credentials"][0]


def ask(model):
    request = urllib.request.Request(
        key["endpoint"] + "/chat/completions",
        data=json.dumps({"model": model, "messages": []}).encode(),
        headers={"Authorization": "Bearer " + key["value"]})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


print("the key is good for", json.dumps(key["constraints"]["model.use"]),
      "and", json.dumps(key["constraints"]["cost.budget"]), flush=True)
try:
    ask("claude-3-haiku")
except urllib.error.HTTPError as error:
    print("claude-3-haiku:", error.code, flush=True)
try:
    while True:
        print("gpt-4o-mini:", ask("gpt-4o-mini"), flush=True)
except urllib.error.HTTPError as error:
    # The configuration of arcpd maps this error of the gateway to a code.
    say("job.error", {"code": "LLM_ERROR", "message": error.read().decode()})
