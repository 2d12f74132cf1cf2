"""What the tests of the dashboard share: an arcpd with agents, and what they do with it and with the page."""

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request

from arcpd import Arcpd
from webdriver import Failed

HOSTILE = "<img src=x onerror=alert(1)><script>document.title='owned'</script>\u202e\u001b[31mred javascript:alert(1)"

AGENT = r"""#!/usr/bin/python3 -IS
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
if "complain" in ask:
    print(ask["complain"], file=sys.stderr, flush=True)
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
{more}agents:
  - {{name: work, version: 1.0.0, command: ['{agents}/agent.py']}}
  - {{name: hello, command: [echo, hi], mode: plain}}
  - {{name: broken, command: [sh, -c, 'echo "no such table <b>jobs</b>" >&2; exit 3'], stderr_in_errors: true}}
"""

LEASE = {"fs.read": ["/srv/data/**"], "tool.call": ["web.*"], "cost.budget": ["USD:2"]}


PRINCIPALS = 50  # of a place that tests share


def shared(test):
    """Marks a test that leaves its arcpd as it was but for jobs of its own principal: such tests share one, which is cheaper."""
    test.is_shared = True
    return test


class Place:
    """An arcpd with the agents, and what the tests do with it. `token` and `principal` are those of the test."""

    def __init__(self, programs, before=None):
        """`before`: one that is closed, whose address is used again, because the browser has the files of the page from there."""
        self.token, self.principal, self.turn = "ta", "alice", 0
        self.arcpd = Arcpd(programs)
        if before is not None:
            self.arcpd.listen = before.arcpd.url
        path = os.path.join(self.arcpd.agents, "agent.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(AGENT)
        os.chmod(path, 0o755)
        more = "".join(f"  - {{token: t{i}, principal: p{i}}}\n" for i in range(1, PRINCIPALS + 1))
        self.config = CONFIG.format(directory=self.arcpd.directory, agents=self.arcpd.agents, more=more)
        self.arcpd.write(self.config)
        self.arcpd.start()

    def next_principal(self):
        self.turn += 1
        self.token, self.principal = f"t{self.turn}", f"p{self.turn}"

    def submit(self, token=None, agent="work", lease=None, **ask):
        words = ["submit", agent, "--detach", "--input", json.dumps(ask)]
        if lease is not None:
            words += ["--lease", json.dumps(lease)]
        return self.arcpd.arcp(token or self.token, *words).split()[0]

    def link(self, token):
        return self.arcpd.arcp(token, "ui")

    def finish(self, token=None, agent="work", lease=None, **ask):
        job = self.submit(token, agent, lease, **ask)
        self.arcpd.arcp(token or self.token, "wait", job, check=False)
        return job


def with_workers(config):
    """The configuration with a worker on this machine, and room for others."""
    return config + "workers: {local: spawn, tokens: [{token: a-token-of-a-worker, name: '*', agents: ['*']}]}\nshutdown: {grace_sec: 0}\n"


class Worker:
    """A worker as on another machine, of an arcpd that has `with_workers`. At its end arcpd and its own worker, which would outlive it, end, too."""

    def __init__(self, place, name, leaves_arcpd=False):
        """`leaves_arcpd`: at its end arcpd goes on."""
        self.arcpd, self.name, self.leaves_arcpd = place.arcpd, name, leaves_arcpd
        config, token, state = (os.path.join(place.arcpd.directory, name + end) for end in (".yaml", ".token", ""))
        os.mkdir(state, 0o700)
        rows = "".join(f"  - {{name: {agent}, command: [sleep, '1000'], mode: plain, confine: false}}\n" for agent in ("train", "tune"))
        for path, text in ((token, "a-token-of-a-worker\n"),
                           (config, f"url: {place.arcpd.url}-worker\ntoken_file: {token}\nname: {name}\nstate: {state}\ncapacity: 4\nagents:\n{rows}")):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
        self.process = subprocess.Popen([os.path.join(place.arcpd.programs, "arcp-worker"), "--config", config], stderr=subprocess.DEVNULL, env=place.arcpd.environment)

    def __enter__(self):
        """When both have joined."""
        end = time.monotonic() + 30
        while not {"local", self.name} <= set(self.listed()):
            if time.monotonic() > end or self.process.poll() is not None:
                self.process.kill()
                raise Failed(f"the workers are {self.listed()}")
            time.sleep(0.02)
        self.local = self.listed()["local"]["pid"]
        return self

    def kill(self):
        """With the programs of its jobs."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="utf-8") as file:
            programs = [int(pid) for pid in file.read().split()]
        self.process.kill()
        self.process.wait()
        for pid in programs:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        if self.leaves_arcpd:
            return
        self.arcpd.kill()  # first: it would start its worker again
        os.kill(self.local, signal.SIGKILL)

    def listed(self):
        """The rows of the workers, by name."""
        return {row["name"]: row for row in map(json.loads, self.arcpd.arcp("to", "workers", "--json").splitlines())}


# Whether this is the page, which no test has changed. Then it is signed out, which costs less than loading it again.
CLEAN = """if (!location.href.startsWith(arguments[0]) || !WebSocket.prototype.send.toString().includes('native') || window.violations || window.copied || window.said) return false;
document.querySelector('dialog').close();
document.querySelector('#who button')?.click();
location.hash = '';
return document.querySelector('h1')?.innerText === 'Sign in';"""


def forget(browser):
    browser.run("try { sessionStorage.clear(); } catch { /* a page that has none */ }")
    browser.log()


def leave(browser):
    """Leaves the page, and nothing of it to the next test."""
    forget(browser)
    browser.open("about:blank")


def sign_in(browser, place, token=None):
    if not browser.run(CLEAN, place.arcpd.page):
        forget(browser)
        browser.open(place.arcpd.page)
        browser.run("if (sessionStorage.length > 0) { sessionStorage.clear(); location.reload(); }")  # of a test that went elsewhere
    browser.wait_text("Sign in", "h1")
    browser.type("#token", token or place.token)
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
