"""What the tests of the dashboard share: an arcpd with agents, and what they do with it and with the page."""

import json
import os
import urllib.error
import urllib.request

from arcpd import Arcpd
from webdriver import Failed

HOSTILE = "<img src=x onerror=alert(1)><script>document.title='owned'</script>\u202e\u001b[31mred javascript:alert(1)"

AGENT = r"""#!/usr/bin/env python3
import json, sys, time
start = json.loads(sys.stdin.readline())["payload"]
def say(type, payload, **more):
    print(json.dumps({"type": type, "payload": payload, **more}), flush=True)
def event(kind, body, **more):
    say("job.event", {"kind": kind, "body": body}, **more)
ask = start["input"] or {}
for i in range(ask.get("events", 3)):
    event("log", {"level": "info", "message": f"event {i} {ask.get('text', '')}"})
for target in ask.get("read", []):
    say("authorize", {"capability": "fs.read", "target": target}, id=target)
    sys.stdin.readline()
if "long" in ask:
    event("log", {"level": "info", "message": "word" * ask["long"]})
for kind, body in ask.get("emit", []):
    event(kind, body)
event("metric", {"name": "cost.inference", "value": 0.25, "unit": "USD", "dimensions": {"model": "small"}})
event("progress", {"current": 3, "total": 4})
event("tool_call", {"tool": "web.search", "args": {"q": "x"}, "call_id": "c1"})
event("artifact_ref", {"uri": "javascript:alert(1)", "content_type": "text/plain"})
if ask.get("wait"):
    line = sys.stdin.readline()
    event("log", {"level": "info", "message": "told: " + json.loads(line)["payload"].get("message", "")})
    for i in range(ask.get("then", 0)):
        event("log", {"level": "info", "message": f"live {i}"})
    sys.exit(1)
say("job.result", {"result": ask.get("result", {"text": ask.get("text", "done"), "list": [1, 2, 3]}), "summary": "all done"})
"""

CONFIG = """
store: "sqlite:{directory}/arcp.db"
enforce: {{mode: off}}
tokens:
  - {{token: ta, principal: alice}}
  - {{token: tb, principal: bob}}
  - {{token: to, principal: olga, role: operator}}
agents:
  - {{name: work, version: 1.0.0, command: ['{directory}/agent.py']}}
  - {{name: hello, command: [echo, hi], mode: plain}}
  - {{name: broken, command: [sh, -c, 'exit 3']}}
"""

LEASE = {"fs.read": ["/srv/data/**"], "tool.call": ["web.*"], "cost.budget": ["USD:2"]}


class Place:
    """An arcpd with the agent, and what the tests do with it."""

    def __init__(self, programs):
        self.arcpd = Arcpd(programs)
        path = os.path.join(self.arcpd.directory, "agent.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(AGENT)
        os.chmod(path, 0o755)
        self.config = CONFIG.format(directory=self.arcpd.directory)
        self.arcpd.write(self.config)
        self.arcpd.start()

    def submit(self, token="ta", agent="work", lease=None, **ask):
        words = ["submit", agent, "--detach", "--input", json.dumps(ask)]
        if lease is not None:
            words += ["--lease", json.dumps(lease)]
        return self.arcpd.arcp(token, *words).split()[0]

    def link(self, token):
        return self.arcpd.arcp(token, "ui")

    def finish(self, token="ta", agent="work", lease=None, **ask):
        job = self.submit(token, agent, lease, **ask)
        self.arcpd.arcp(token, "wait", job, check=False)
        return job


def sign_in(browser, place, token="ta"):
    browser.open(place.arcpd.page)
    browser.wait_text("Sign in", "h1")
    browser.type("#token", token)
    browser.click("button[type=submit]")
    browser.wait_text("Overview", "h1")


def go(browser, to):
    browser.run("location.hash = arguments[0];", to)


def check(condition, what):
    if not condition:
        raise Failed(what)


def restart(place, config=None):
    """kill -9, then the same again, or with another configuration."""
    place.arcpd.kill()
    if config:
        place.arcpd.write(config)
    place.arcpd.start()


def get(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()
