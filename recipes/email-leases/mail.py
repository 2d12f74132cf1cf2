#!/usr/bin/env python3
"""An e-mail agent. Folders and addresses are targets of capabilities of its vendor's own."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
asked = 0


def say(kind, payload, line_id=None):
    line = {"type": kind, "payload": payload}
    if line_id is not None:
        line["id"] = line_id
    print(json.dumps(line), flush=True)


def may(capability, target):
    """Asks the gate. Whatever is not a clear yes is a no."""
    global asked
    asked += 1
    line_id = str(asked)
    say("authorize", {"capability": "x-vendor.acme.email." + capability, "target": target}, line_id)
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("re") == line_id:
            return message["payload"].get("allow") is True
    return False


def address(text):
    """The one form of an address that leases are written in: the host's case does not count."""
    user, _, host = text.strip().rpartition("@")
    return user + "@" + host.lower()


start = json.loads(sys.stdin.readline())["payload"]
with open(os.path.join(HERE, "mailbox.json"), encoding="utf-8") as file:
    mailbox = json.load(file)
for folder, mails in mailbox.items():
    print(f"{folder}: {mails if may('read', folder) else 'not for me'}", flush=True)
for to in start["input"]["send_to"]:
    target = address(to)
    if may("send", target):
        say("job.event", {"kind": "x-vendor.acme.email.sent", "body": {"to": target}})
    else:
        print(f"not sent to {target}", flush=True)
