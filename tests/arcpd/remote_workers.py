"""arcpd and workers that connect to it over TLS, in a directory of their own, with a proxy between them."""
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
