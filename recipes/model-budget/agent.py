#!/usr/bin/env python3
"""Works with a model and a tool until the budget of its job is spent. SDKs read the same two variables by themselves."""
import json
import os
import sys
import urllib.error
import urllib.request

URL, KEY = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {
    "type": "object", "properties": {"at": {"type": "integer"}}}}}]


def ask(messages):
    body = json.dumps({"model": "small", "messages": messages, "tools": TOOLS, "max_tokens": 300}).encode()
    request = urllib.request.Request(URL + "/chat/completions", body, {
        "Authorization": "Bearer " + KEY, "Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


messages = [{"role": "user", "content": "look at everything"}]
try:
    while True:
        message = ask(messages)
        messages.append(message)
        for call in message["tool_calls"]:
            at = json.loads(call["function"]["arguments"])["at"]
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": f"nothing at {at}"})
except urllib.error.HTTPError as error:
    print(error.code, json.load(error)["error"]["message"], file=sys.stderr)
    sys.exit(1)
