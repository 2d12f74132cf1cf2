"""Workers that connect over TLS, with real programs: a job there while arcpd is killed (-9) and while the link is cut, wrong
tokens, rows that are read again.

    tests/arcpd/remote_worker_test.py BIN_DIR"""
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from hooks import Authority, closed_port

BIN = sys.argv[1]
TOKEN, WORKER_TOKEN = "a-token-of-a-session", "a-token-of-a-worker"
PATIENCE_SEC = 120
COUNT = ["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.2; done; echo '"
         '{"type":"job.result","payload":{"result":"counted"}}' "'"]


def until(is_done, what):
    end = time.monotonic() + PATIENCE_SEC
    while not is_done():
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.01)


class Process:
    """A program whose output is kept."""

    def __init__(self, words, environment):
        self.log = ""
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with self.process.stdout as lines:
            for line in lines:
                self.log += line

    def wait_for(self, text, times=1):
        until(lambda: self.log.count(text) >= times or self.process.poll() is not None, lambda: f"no {text!r} in: {self.log}")
        assert self.log.count(text) >= times, self.log

    def end(self, number=signal.SIGKILL):
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        self.process.wait(PATIENCE_SEC)


class Proxy:
    """Passes bytes to a port, until it is cut."""

    def __init__(self, port):
        self.port = port
        self.server = socket.create_server(("127.0.0.1", 0))
        self.ends = []
        self.refuses = False
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            one, _ = self.server.accept()
            if self.refuses:
                one.close()
                continue
            try:
                other = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                one.close()
                continue
            self.ends += [one, other]
            for source, target in ((one, other), (other, one)):
                threading.Thread(target=self.copy, args=(source, target), daemon=True).start()

    @staticmethod
    def copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.ends = []


class Rig(contextlib.ExitStack):
    def __init__(self, authority, tokens=None):
        super().__init__()
        self.directory = self.enter_context(tempfile.TemporaryDirectory())
        self.authority = authority
        self.port = closed_port()
        self.proxy = Proxy(self.port)
        self.arcpd = None
        self.workers = []
        self.callback(self.end)
        self.environment = {**os.environ, "ARCP_TOKEN": TOKEN, "HOME": self.directory, "ARCP_CA_FILE": authority.file}
        certificate = authority.certificate("arcpd")
        os.chmod(certificate, 0o600)
        tokens = f"{{token: {WORKER_TOKEN}, name: 'gpu-*', agents: ['*']}}" if tokens is None else tokens
        self.write("arcpd.yaml", f"""
listen: ["wss://127.0.0.1:{self.port}/arcp"]
tls: {{certificate: {certificate}, key: {certificate}}}
store: "sqlite:{self.path('arcp.db')}"
tokens: [{{principal: olga, role: operator, token: {TOKEN}}}]
enforce: {{mode: "off"}}
agents: [{{name: own, mode: plain, command: [echo, of arcpd]}}]
workers: {{keep_sec: 60, tokens: [{tokens}]}}
shutdown: {{grace_sec: 0}}
""")

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text, mode=0o600):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf8") as file:
            file.write(text)
        return self.path(name)

    def end(self):
        for process in [self.arcpd, *self.workers]:
            if process is not None:
                process.end()

    def start_arcpd(self):
        os.makedirs(self.path("arcpd"), 0o700, exist_ok=True)
        self.arcpd = Process([f"{BIN}/arcpd", "--config", self.path("arcpd.yaml")],
                             {**self.environment, "STATE_DIRECTORY": self.path("arcpd")})
        self.arcpd.wait_for("arcpd: ready ")

    def worker_config(self, name, agents, token=WORKER_TOKEN):
        os.makedirs(self.path(name), 0o700, exist_ok=True)
        rows = "".join(f"  - {json.dumps({'confine': False, **agent})}\n" for agent in agents)
        return self.write(f"{name}.yaml", f"""
url: wss://127.0.0.1:{self.proxy.server.getsockname()[1]}/arcp-worker
ca_file: {self.authority.file}
token_file: {self.write(f'{name}.token', token + chr(10))}
name: {name}
state: {self.path(name)}
capacity: 4
agents:
{rows}""")

    def start_worker(self, name, agents, token=WORKER_TOKEN):
        config = self.worker_config(name, agents, token)
        worker = Process([f"{BIN}/arcp-worker", "--config", config], self.environment)
        self.workers.append(worker)
        return worker

    def arcp(self, *words, status=0):
        done = subprocess.run([f"{BIN}/arcp", words[0], "--url", f"wss://127.0.0.1:{self.port}/arcp", *words[1:]],
                              capture_output=True, text=True, env=self.environment, timeout=PATIENCE_SEC, check=False)
        assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr, self.arcpd.log)
        return done.stdout if status == 0 else done.stderr

    def submit(self, agent):
        return json.loads(self.arcp("submit", agent, "--detach", "--json").splitlines()[0])["job_id"]

    def events(self, job):
        """The lines that a job has logged."""
        rows = [json.loads(line) for line in self.arcp("logs", job, "--json").splitlines()]
        return [row["body"]["message"] for row in rows if row.get("kind") == "log"]


def joined(rig, name, times=1):
    rig.arcpd.wait_for(f", {name} at ", times)


def a_job_runs_on_the_worker_with_its_own_row(rig):
    rig.start_arcpd()
    rig.start_worker("gpu-1", [
        {"name": "where", "mode": "plain", "command": ["sh", "-c", "echo $ARCP_AGENT $COLOR; pwd"], "env": {"COLOR": "red"}},
        {"name": "own", "mode": "plain", "command": ["echo", "of the worker"]}])
    joined(rig, "gpu-1")
    agent, cwd = rig.arcp("submit", "where").split("\n")[:2]
    assert agent == "where red"
    assert cwd.startswith(os.path.join(rig.path("gpu-1"), "work", "")), cwd
    assert rig.arcp("submit", "own") == "of arcpd\n"  # the configuration hides it
    assert "AGENT_NOT_AVAILABLE" in rig.arcp("submit", "none", status=1)


def a_job_goes_on_while_arcpd_is_killed(rig):
    rig.start_arcpd()
    rig.start_worker("gpu-1", [{"name": "count", "command": COUNT}])
    joined(rig, "gpu-1")
    job = rig.submit("count")
    until(lambda: "line 2" in rig.events(job), "line 2")
    rig.arcpd.end()
    rig.start_arcpd()
    rig.arcp("wait", job)
    assert rig.events(job) == [f"line {i}" for i in range(1, 9)], rig.events(job)


def a_job_goes_on_while_the_link_is_cut(rig):
    rig.start_arcpd()
    rig.start_worker("gpu-1", [{"name": "count", "command": COUNT}])
    joined(rig, "gpu-1")
    job = rig.submit("count")
    for i in range(2, 5):
        until(lambda: f"line {i}" in rig.events(job), f"line {i}")
        rig.proxy.cut()
    rig.arcp("wait", job)
    assert rig.events(job) == [f"line {i}" for i in range(1, 9)], rig.events(job)


def a_wrong_token_is_refused_and_said(rig):
    rig.start_arcpd()
    for name, token, why in (("gpu-1", "another-token", "its token is not valid"), ("gpu-2", TOKEN, "its token is not valid"),
                             ("cpu-1", WORKER_TOKEN, "its token is not for the name cpu-1")):
        worker = rig.start_worker(name, [{"name": "where", "command": ["true"]}], token)
        worker.wait_for(f"arcpd has refused this worker: {why}; it tries again in 60 s")
        rig.arcpd.wait_for(f"(worker): {why}")
        assert worker.log.count("refused") == 1, worker.log
    rig.environment["ARCP_TOKEN"] = WORKER_TOKEN
    assert "UNAUTHENTICATED" in rig.arcp("agents", status=3)
    with open(rig.path("arcpd/audit.jsonl"), encoding="utf8") as file:
        lines = [json.loads(line) for line in file]
    refused = [line for line in lines if line.get("event") == "worker"]
    assert [line["decision"] for line in refused] == ["refused"] * 3, refused


def another_life_has_the_name_until_it_leaves(rig):
    rig.start_arcpd()
    first = rig.start_worker("gpu-1", [{"name": "where", "command": ["true"]}])
    joined(rig, "gpu-1")
    config = rig.worker_config("gpu-1", [{"name": "where", "command": ["true"]}])
    same = Process([f"{BIN}/arcp-worker", "--config", config], rig.environment)
    assert same.process.wait(PATIENCE_SEC) == 1  # the directory is the first one's
    os.makedirs(rig.path("other"), 0o700)
    with open(config, encoding="utf8") as file:
        text = file.read().replace(f"state: {rig.path('gpu-1')}", f"state: {rig.path('other')}")
    second = Process([f"{BIN}/arcp-worker", "--config", rig.write("other.yaml", text)], rig.environment)
    rig.workers.append(second)
    second.wait_for("arcpd is away: name_in_use")
    first.end(signal.SIGTERM)
    joined(rig, "gpu-1", 2)


def rows_are_read_again(rig):
    rig.start_arcpd()
    worker = rig.start_worker("gpu-1", [{"name": "before", "mode": "plain", "command": ["echo", "before"]}])
    joined(rig, "gpu-1")
    rig.worker_config("gpu-1", [{"name": "after", "mode": "plain", "command": ["echo", "after"]}])
    os.kill(worker.process.pid, signal.SIGHUP)
    joined(rig, "gpu-1", 2)
    assert rig.arcp("submit", "after") == "after\n"


def a_token_bounds_the_agents(rig):
    rig.start_arcpd()
    rig.start_worker("gpu-1", [{"name": "train-a", "mode": "plain", "command": ["echo", "trained"]},
                               {"name": "spy", "mode": "plain", "command": ["echo", "spied"]}])
    joined(rig, "gpu-1")
    assert rig.arcp("submit", "train-a") == "trained\n"
    assert "AGENT_NOT_AVAILABLE" in rig.arcp("submit", "spy", status=1)
    rig.arcpd.wait_for("offers 1 agents that its token does not allow: spy")


def a_token_that_is_removed_ends_the_link(rig):
    rig.start_arcpd()
    worker = rig.start_worker("gpu-1", [{"name": "where", "command": ["true"]}])
    joined(rig, "gpu-1")
    with open(rig.path("arcpd.yaml"), encoding="utf8") as file:
        text = file.read().replace(WORKER_TOKEN, "a-newer-token-of-a-worker")
    rig.write("arcpd.yaml", text)
    os.kill(rig.arcpd.process.pid, signal.SIGHUP)
    worker.wait_for("arcpd has refused this worker: its token is not valid any more")


def operators_see_drain_and_forget_workers(rig):
    rig.start_arcpd()
    rig.arcp("workers", "forget", "gpu-1")  # it has no jobs
    worker = rig.start_worker("gpu-1", [{"name": "count", "command": COUNT}])
    joined(rig, "gpu-1")
    job = rig.submit("count")
    until(lambda: "line 1" in rig.events(job), "line 1")
    row = json.loads(rig.arcp("workers", "--json"))
    assert (row["name"], row["state"], row["jobs"], row["capacity"], row["agents"]) == ("gpu-1", "joined", 1, 4, ["count"]), row
    assert "the worker is connected" in rig.arcp("workers", "forget", "gpu-1", status=1)
    assert "no worker" in rig.arcp("workers", "drain", "gpu-2", status=1)
    rig.arcp("workers", "drain", "gpu-1")
    assert json.loads(rig.arcp("workers", "--json"))["state"] == "draining"
    rig.arcp("wait", job)
    assert worker.process.wait(PATIENCE_SEC) == 0
    assert rig.arcp("workers", "--json") == ""


def the_jobs_of_a_forgotten_worker_end(rig):
    rig.start_arcpd()
    worker = rig.start_worker("gpu-1", [{"name": "sleeper", "mode": "plain", "command": ["sleep", "1000"]}])
    joined(rig, "gpu-1")
    job = rig.submit("sleeper")
    until(lambda: json.loads(rig.arcp("show", job, "--json"))["status"] == "running", "it runs")
    worker.end()
    until(lambda: rig.arcp("workers", "--json") == "", "it is away")
    rig.arcp("workers", "forget", "gpu-1")
    rig.arcp("wait", job, status=1)
    assert "the job's worker is lost" in rig.arcp("show", job)


def main():
    bounded = f"{{token: {WORKER_TOKEN}, name: gpu-1, agents: ['train-*'], max_jobs: 2}}"
    tests = [(a_job_runs_on_the_worker_with_its_own_row, None), (a_job_goes_on_while_arcpd_is_killed, None),
             (a_job_goes_on_while_the_link_is_cut, None), (a_wrong_token_is_refused_and_said, None),
             (another_life_has_the_name_until_it_leaves, None), (rows_are_read_again, None),
             (operators_see_drain_and_forget_workers, None),
             (the_jobs_of_a_forgotten_worker_end, None), (a_token_bounds_the_agents, bounded), (a_token_that_is_removed_ends_the_link, None)]
    with tempfile.TemporaryDirectory() as directory:
        authority = Authority(directory)
        for test, tokens in tests:
            print(test.__name__, flush=True)
            with Rig(authority, tokens) as rig:
                test(rig)


main()
