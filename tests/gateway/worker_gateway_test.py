"""Calls to models by an agent of the worker of this machine: before, while and after arcpd is killed. Each call is paid
once, with and without a sandbox, and one that was under way counts in full.

    tests/gateway/worker_gateway_test.py BIN_DIR
"""
import contextlib
import decimal
import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import provider  # noqa: E402

BIN = ""
PATIENCE_SEC = 60
PRICE = {"mode": "chat", "max_input_tokens": 100000, "max_output_tokens": 1000,
         "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05}
COST = decimal.Decimal("0.00045")  # of a call: 100 tokens of input and 10 of output
# Does what the test puts into `do`, a file for each step, and writes what came of it into `done`.
AGENT = '''
import json, os, sys, time, urllib.error, urllib.request
start = json.loads(sys.stdin.readline())["payload"]
box = start["input"]
open_url = urllib.request.build_opener(urllib.request.ProxyHandler(
    {} if os.environ["OPENAI_API_KEY"] != "sk-arcp-job" else None)).open
def call():
    body = json.dumps({"model": "m", "max_tokens": 20, "messages": [{"role": "user", "content": "ping"}]}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, {
        "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"})
    try:
        with open_url(request, timeout=60) as response:
            return [response.status, json.load(response)["choices"][0]["message"]["content"]]
    except urllib.error.HTTPError as error:
        return [error.code, error.headers["x-arcp-code"], error.headers["retry-after"], error.headers["x-should-retry"]]
    except OSError as error:
        return [0, str(error)]
step = 0
while True:
    step += 1
    while not os.path.exists(f"{box}/do{step}"):
        time.sleep(0.01)
    if open(f"{box}/do{step}").read() == "end":
        break
    with open(f"{box}/tmp", "w") as file:
        json.dump([call(), start.get("endpoints"), os.environ.get("ANTHROPIC_BASE_URL")], file)
    os.rename(f"{box}/tmp", f"{box}/done{step}")
print(json.dumps({"type": "job.result", "payload": {"result": step}}), flush=True)
'''


def until(get, what):
    end = time.monotonic() + PATIENCE_SEC
    while not (got := get()):
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.01)
    return got


class Daemon(contextlib.ExitStack):
    """arcpd with a worker, in a directory of its own, and one job."""

    def __init__(self, provider_url, agent="", more="workers: {local: spawn}", port=0):
        super().__init__()
        self.directory = self.enter_context(tempfile.TemporaryDirectory())
        self.box = self.enter_context(tempfile.TemporaryDirectory(dir=os.getcwd()))  # sandboxes have a /tmp of their own
        self.steps = 0
        self.process = None
        self.log = ""
        self.write("key", "sk-of-the-provider\n", 0o600)
        self.write("prices.json", json.dumps({"m": PRICE}))
        self.write(os.path.join(self.box, "agent.py"), AGENT)
        self.config = self.write("arcpd.yaml", f"""
listen: ["ws://127.0.0.1:{port}/arcp"]
store: "sqlite:{self.path('arcp.db')}"
tokens: [{{principal: alice, token: t}}]
agents: [{{name: {"caller" if port == 0 else "another"}, command: [{sys.executable}, -B, "{self.box}/agent.py"]{agent}}}]
models:
  prices: {self.path("prices.json")}
  providers: [{{name: stand-in, dialect: openai, url: "{provider_url}/v1", key: "{{file:{self.path('key')}}}", models: [m]}}]
{more}""")
        self.callback(self.end)
        self.start()

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text, mode=0o644):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf8") as file:
            file.write(text)
        return self.path(name)

    def start(self):
        self.log = ""
        self.process = subprocess.Popen([f"{BIN}/arcpd", "--config", self.config], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True,
                                        env={**os.environ, "STATE_DIRECTORY": self.directory, "HOME": self.directory})
        threading.Thread(target=self.read, args=(self.process.stdout,), daemon=True).start()
        until(lambda: "ready ws://" in self.log or self.process.poll() is not None, lambda: self.log)
        assert "ready ws://" in self.log, self.log
        self.url = "ws://" + self.log.split("ready ws://")[1].split()[0]

    def read(self, lines):
        with lines:
            for line in lines:
                self.log += line

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_SEC)

    def end(self):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGINT)
        self.process.wait(PATIENCE_SEC)

    def arcp(self, *words):
        return subprocess.run([f"{BIN}/arcp", "--url", self.url, "--token", "t", *words], check=False, capture_output=True,
                              text=True, env={**os.environ, "XDG_STATE_HOME": self.path("client"), "HOME": self.directory})

    def submit(self, budget="USD:1", **lease):
        lease = {"model.use": ["m"], "cost.budget": [budget], **lease}
        done = self.arcp("submit", "caller", "--detach", "--input", json.dumps(self.box), "--lease", json.dumps(lease))
        assert done.returncode == 0, done.stderr + self.log
        return done.stdout.split()[-1]

    def step(self, what="call"):
        """The number of the step, which the agent takes now."""
        self.steps += 1
        with open(f"{self.box}/tmp{self.steps}", "w", encoding="utf8") as file:
            file.write(what)
        os.rename(f"{self.box}/tmp{self.steps}", f"{self.box}/do{self.steps}")
        return self.steps

    def result(self, step):
        path = f"{self.box}/done{step}"
        until(lambda: os.path.exists(path), lambda: f"step {step}: {self.log}")
        with open(path, encoding="utf8") as file:
            return json.load(file)

    def call(self):
        return self.result(self.step())[0]

    def call_until(self, status):
        """Calls until the status is this one; all of the others are those of a runtime that is away."""
        while (got := self.call())[0] != status:
            assert got[:3] == [503, "runtime_away", "1"], got
        return got

    def spent(self, job):
        """Of the job, as the store has it."""
        with contextlib.closing(sqlite3.connect(f"file:{self.path('arcp.db')}?mode=ro", uri=True)) as store:
            rows = store.execute("select value from jobs where key in (?, ?)", (job + "/live", job)).fetchall()
        return decimal.Decimal([row for row in (json.loads(row[0]) for row in rows) if "spent" in row][-1]["spent"]["USD"])

    def await_settled(self, job, amount):
        """Until the store has what was spent, and no hold: a call has its answer a little earlier."""
        def is_settled():
            with contextlib.closing(sqlite3.connect(f"file:{self.path('arcp.db')}?mode=ro", uri=True)) as store:
                holds = store.execute("select count(*) from jobs where key like 'hold/%'").fetchone()[0]
            return holds == 0 and self.spent(job) == amount
        until(is_settled, "a call is not settled")

    def finish(self, job):
        self.step("end")
        done = self.arcp("watch", job)
        assert done.returncode == 0, done.stderr + self.log


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Remote(Daemon):
    """The same with a worker that has a file of its own, over loopback. `gateways`: of arcpd's configuration."""

    def __init__(self, provider_url, gateways, row=""):
        self.worker = None
        self.port = free_port()
        super().__init__(provider_url, more=f'gateways: {gateways}\n'
                         'workers: {local: none, keep_sec: 60, tokens: [{token: of-a-worker, name: "*"}]}', port=self.port)
        self.write("token", "of-a-worker\n", 0o600)
        config = self.write("worker.yaml", f"""
url: ws://127.0.0.1:{self.port}/arcp-worker
token_file: {self.path("token")}
name: far
state: {self.path("worker")}
agents: [{{name: caller, command: [{sys.executable}, -B, "{self.box}/agent.py"], confine: false{row}}}]
""")
        os.mkdir(self.path("worker"))
        self.worker = subprocess.Popen([f"{BIN}/arcp-worker", "--config", config], stderr=subprocess.DEVNULL)
        until(lambda: "a worker has joined" in self.log, lambda: self.log)

    def end(self):
        super().end()
        if self.worker is not None and self.worker.poll() is None:
            self.worker.terminate()
            self.worker.wait(PATIENCE_SEC)


class Test(unittest.TestCase):
    def over_a_kill(self, daemon, is_confined):
        lease = {"fs.write": [daemon.box + "/**"], "fs.read": [daemon.box + "/**"]} if is_confined else {}
        job = daemon.submit(**lease)
        status, endpoints, anthropic = daemon.result(daemon.step())
        self.assertEqual(status, [200, "pong and more"])
        self.assertEqual(endpoints["llm"]["url"], anthropic)
        self.assertEqual(endpoints["llm"]["url"] == "http://llm.arcp", is_confined)
        self.assertEqual(endpoints["llm"]["key"] == "sk-arcp-job", is_confined)
        daemon.await_settled(job, COST)
        daemon.kill()
        self.assertEqual(daemon.call(), [503, "runtime_away", "1", "true"])
        daemon.start()
        daemon.call_until(200)
        self.assertEqual(daemon.call()[0], 200)
        daemon.finish(job)
        daemon.end()
        self.assertEqual(daemon.spent(job), 3 * COST)

    def test_each_call_is_paid_once_over_a_kill(self):
        with provider.Provider() as models, Daemon(models.url, ", confine: false") as daemon:
            self.over_a_kill(daemon, False)
            self.assertEqual(len(models.requests), 3)

    def test_the_same_in_a_sandbox(self):
        with provider.Provider() as models, Daemon(models.url, f", base: [\"{os.path.realpath(sys.prefix)}/**\"]") as daemon:
            if "cannot confine" in daemon.log:
                self.skipTest("this machine has no sandboxes")
            self.over_a_kill(daemon, True)

    def test_a_call_that_was_under_way_counts_in_full(self):
        self.over_a_call(Daemon.kill)

    def test_the_same_when_arcpd_is_stopped(self):
        self.over_a_call(Daemon.stop)

    def over_a_call(self, leave):
        held, go_on = threading.Event(), threading.Event()

        def say(_path, _request, number):
            if number == 2:
                held.set()
                go_on.wait(PATIENCE_SEC)
            return provider.Reply("pong and more")

        with provider.Provider(say) as models, Daemon(models.url, ", confine: false") as daemon:
            job = daemon.submit()
            self.assertEqual(daemon.call()[0], 200)
            daemon.await_settled(job, COST)
            step = daemon.step()
            until(held.is_set, "no call")
            leave(daemon)
            self.assertEqual(daemon.result(step)[0][:3], [503, "runtime_away", "1"])
            go_on.set()
            with contextlib.closing(sqlite3.connect(f"file:{daemon.path('arcp.db')}?mode=ro", uri=True)) as store:
                rows = store.execute("select value from jobs where key like 'hold/%'").fetchall()
            self.assertEqual(len(rows), 1)
            hold = decimal.Decimal(json.loads(rows[0][0])["held"]["USD"])
            self.assertGreater(hold, COST)
            daemon.start()
            daemon.call_until(200)
            daemon.await_settled(job, 2 * COST + hold)
            daemon.kill()
            self.assertEqual(daemon.spent(job), 2 * COST + hold)
            daemon.start()  # it is not counted again
            daemon.call_until(200)
            daemon.finish(job)
            daemon.end()
            self.assertEqual(daemon.spent(job), 3 * COST + hold)

    def test_a_key_is_dead_after_the_end_of_its_job(self):
        with provider.Provider() as models, Daemon(models.url, ", confine: false") as daemon:
            job = daemon.submit()
            endpoint = daemon.result(daemon.step())[1]["llm"]
            daemon.finish(job)
            done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Authorization: Bearer {endpoint['key']}",
                                   f"{endpoint['url']}/v1/models"], check=False, capture_output=True, text=True)
            self.assertEqual(done.stdout, "401")

    def test_a_remote_worker_passes_calls_on_to_the_url(self):
        gateways = f"127.0.0.1:{free_port()}"
        with provider.Provider() as models, Remote(models.url, f'{{listen: "{gateways}", url: "http://{gateways}"}}') as daemon:
            self.over_a_kill(daemon, False)
            self.assertEqual(len(models.requests), 3)

    def test_a_remote_job_has_no_gateways_without_a_url(self):
        gateways = f"127.0.0.1:{free_port()}"
        with provider.Provider() as models, Remote(models.url, f'{{listen: "{gateways}"}}') as daemon:
            job = daemon.submit()
            daemon.step("end")
            done = daemon.arcp("watch", job, "--from-start", "--json")
            self.assertIn("gateways.url", done.stdout)
            self.assertIn("KeyError: 'OPENAI_API_KEY'", daemon.log)

    def test_a_row_of_a_remote_worker_may_have_none(self):
        gateways = f"127.0.0.1:{free_port()}"
        with provider.Provider() as models, \
                Remote(models.url, f'{{listen: "{gateways}", url: "http://{gateways}"}}', ", gateways: false") as daemon:
            daemon.submit()
            until(lambda: "KeyError: 'OPENAI_API_KEY'" in daemon.log, lambda: daemon.log)

    def test_what_a_hostile_worker_can_say(self):
        place = f"127.0.0.1:{free_port()}"
        with provider.Provider() as models, \
                Daemon(models.url, ", confine: false", f'workers: {{local: spawn}}\ngateways: {{listen: "{place}"}}') as daemon:
            job = daemon.submit()
            key = daemon.result(daemon.step())[1]["llm"]["key"]
            other = "sk-arcp-" + "A" * 43

            def connection(key=None):
                """The status of the worker's request, and a connection on which others follow."""
                conn = http.client.HTTPConnection(place, timeout=PATIENCE_SEC)
                conn.request("POST", "/arcp-relay", headers={} if key is None else {"Authorization": f"Bearer {key}"})
                return self.status(conn), conn

            def ask(conn, host, **headers):
                conn.putrequest("GET", "/v1/models", skip_host=True)
                for name, value in {"Host": host, **headers}.items():
                    conn.putheader(name, value)
                conn.endheaders()
                return self.status(conn)

            self.assertEqual(connection(other)[0], 401)  # of no job
            status, sandbox = connection(key)
            self.assertEqual(status, 200)
            # The connection says whose call it is: a key that is sent is not read.
            self.assertEqual(ask(sandbox, "llm.arcp", Authorization=f"Bearer {other}"), 200)
            self.assertEqual(ask(sandbox, "mcp.arcp"), 421)
            self.assertEqual(ask(connection(key)[1], "evil.example"), 421)
            first = connection(key)[1]
            for host in ("llm.arcp", "mcp.arcp"):  # as Claude Code asks before its first call
                first.putrequest("HEAD", "/", skip_host=True)
                first.putheader("Host", host)
                first.endheaders()
                self.assertEqual(self.status(first), 200)
            status, keys = connection()
            self.assertEqual(status, 200)
            self.assertEqual(ask(keys, "127.0.0.1:1"), 401)
            self.assertEqual(ask(keys, "127.0.0.1:1", Authorization=f"Bearer {other}"), 401)
            self.assertEqual(ask(keys, "127.0.0.1:1", Authorization=f"Bearer {key}"), 200)
            self.assertEqual(ask(keys, "localhost", Authorization=f"Bearer {key}", Origin="http://localhost"), 403)
            self.assertEqual(ask(keys, "evil.example", Authorization=f"Bearer {key}"), 421)
            late = connection(key)[1]  # the other one was closed after 421
            self.assertEqual(ask(late, "llm.arcp"), 200)
            daemon.finish(job)
            self.assertEqual(ask(late, "llm.arcp"), 401)  # the job has ended
            self.assertEqual(connection(key)[0], 401)

    @staticmethod
    def status(conn):
        with conn.getresponse() as response:
            response.read()
            return response.status


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
