"""Agents with a sandbox, with warm and with served processes on a worker of this machine: what is denied them there,
and that their jobs go on while arcpd is killed.

    tests/arcpd/worker_hosting_test.py BIN_DIR
"""
import contextlib
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

BIN = sys.argv[1]
LINES = 60
PATIENCE_SEC = 60
# Each says the numbers 0, 1, 2, ... and then its result.
COUNT = """i=0; while [ $i -lt %d ]; do
echo '{"job_id":"'$id'","type":"job.event","payload":{"kind":"log","body":{"level":"info","message":"'$i'"}}}'
i=$((i + 1)); sleep 0.02; %%s
done; echo '{"job_id":"'$id'","type":"job.result","payload":{"result":'$$'}}'""" % LINES
SERVE = """while read -r line; do case $line in *'"job.start"'*)
id=${line#*'"job_id":"'}; id=${id%%'"'*}; (""" + COUNT % "" + """) & ;; esac; done"""


class Server(http.server.ThreadingHTTPServer):
    """What a lease can name: answers each path with that path."""
    daemon_threads = True

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"path=" + self.path.encode())

        def log_message(self, *words):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Job:
    """A job that `arcp submit` follows, over restarts of arcpd."""

    def __init__(self, daemon, agent, lease):
        words = [f"{BIN}/arcp", "--url", daemon.url, "--token", "t", "submit", agent, "--lease", json.dumps(lease), "--json"]
        self.agent = agent
        self.lines = []
        self.changed = threading.Condition()
        environment = {**os.environ, "XDG_STATE_HOME": os.path.join(daemon.directory, f"client-{daemon.clients}")}
        daemon.clients += 1
        self.process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(json.loads(line))
                self.changed.notify_all()

    def bodies(self, kind):
        return [line["body"] for line in self.lines if line.get("kind") == kind]

    def messages(self):
        return [body["message"] for body in self.bodies("log")]

    def numbers(self):
        return [int(message) for message in self.messages() if message.isdigit()]

    def denials(self):
        return [body["message"] for body in self.bodies("status") if body["phase"] == "denied"]

    def wait(self, is_done):
        with self.changed:
            assert self.changed.wait_for(is_done, PATIENCE_SEC), (self.agent, self.lines[-5:])

    def end(self):
        """Its last line, when it has ended."""
        assert self.process.wait(PATIENCE_SEC) is not None
        self.thread.join(PATIENCE_SEC)
        return self.lines[-1] if self.lines else self.process.stderr.read()


class Daemon:
    def __init__(self, directory, agents, more):
        self.directory, self.more, self.port, self.clients, self.process = directory, more, 0, 0, None
        self.config = os.path.join(directory, "arcpd.yaml")
        self.agents(agents)

    def agents(self, agents):
        rows = "".join(f"  - {json.dumps(agent)}\n" for agent in agents)
        with open(self.config, "w", encoding="utf8") as file:
            file.write("workers: {local: spawn, keep_sec: 60}\nshutdown: {grace_sec: 0}\n"
                       f"tokens: [{{token: t, principal: alice}}]\n{self.more}agents:\n{rows}")

    def start(self):
        self.process = subprocess.Popen([f"{BIN}/arcpd", "--config", self.config, "--listen", f"ws://127.0.0.1:{self.port}/arcp"],
                                        stdout=subprocess.PIPE, stderr=open(os.path.join(self.directory, "errors"), "ab"),
                                        env={**os.environ, "STATE_DIRECTORY": self.directory})
        line = self.process.stdout.readline().decode()
        assert line.startswith("arcpd: ready "), self.errors()
        self.url = line.split()[-1]
        self.port = int(self.url.split(":")[2].split("/")[0])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_SEC)

    def errors(self):
        with open(os.path.join(self.directory, "errors"), encoding="utf8") as file:
            return file.read()

    def workers(self):
        said = "a worker has joined: process "
        return [int(part.split(",")[0].split()[0]) for part in self.errors().split(said)[1:]]

    def run(self, agent, lease=None):
        return Job(self, agent, lease or {})


def await_end(pid):
    """It is no child of ours, and may be a zombie when it has ended."""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        while True:
            with open(f"/proc/{pid}/stat", encoding="utf8") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return
            threading.Event().wait(0.01)


@contextlib.contextmanager
def daemon_with(agents, more=""):
    with tempfile.TemporaryDirectory(prefix="arcp-hosting-") as directory:
        daemon = Daemon(directory, agents(directory) if callable(agents) else agents, more)
        daemon.start()
        try:
            yield daemon
        finally:
            daemon.stop()
            for worker in set(daemon.workers()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGTERM)
                await_end(worker)


def shell(name, text, **more):
    return {"name": name, "command": ["/bin/sh", "-c", text], **more}


def counting(name, in_turn="", **more):
    return shell(name, "read -r line; id=; " + COUNT % in_turn, **more)


def served(name, **more):
    return shell(name, SERVE, mode="serve", processes=1, concurrency=8, **more)


def jobs_go_on_while_arcpd_is_killed(place):
    """Denials: one before the first kill and again after it, one while arcpd is away."""
    secrets = [os.path.join(place, f"outside/{name}") for name in ("first", "second")]
    probe = (f"case $i in 3|40) cat {secrets[0]} 2>&1;; 20) cat {secrets[1]} 2>&1;; esac | "
             "sed -n 's/^secret/got it/p'")
    agents = [counting("confined", probe), counting("warm", probe, warm=1), counting("bare", confine=False),
              counting("bare-warm", confine=False, warm=1), served("served"), served("bare-served", confine=False)]
    with daemon_with(agents) as daemon:
        jobs = [daemon.run(agent["name"]) for agent in agents] + [daemon.run("served")]
        for at in (5, 30):
            for job in jobs:
                job.wait(lambda job=job, at=at: len(job.numbers()) >= at)
            daemon.kill()
            daemon.start()
        results = [job.end() for job in jobs]
        for job, result in zip(jobs, results):
            assert result["final_status"] == "success", (job.agent, result)
            assert job.numbers() == list(range(LINES)), (job.agent, job.numbers())
            assert "got it" not in job.messages(), job.agent
            expected = [f"fs.read {secret}" for secret in secrets] if job.agent in ("confined", "warm") else []
            assert job.denials() == expected, (job.agent, job.denials())
        assert results[4]["result"] == results[-1]["result"]  # one served process for both
        assert len(set(daemon.workers())) == 1


def the_sandbox_holds_on_a_worker(place):
    """Each row is done by an agent without a sandbox, and denied to one with it."""
    outside, granted = os.path.join(place, "outside"), os.path.join(place, "read")
    os.symlink(f"{outside}/first", f"{granted}/link")
    listener, other = Server(), Server()
    rows = {
        "read a file outside": f"cat {outside}/first",
        "read by a link in what is granted": f"cat {granted}/link",
        "read by a path with ..": f"cat {granted}/../outside/first",
        "write a file outside": f"echo x >>{outside}/plain",
        "write what is granted to be read": f"echo x >>{granted}/plain",
        "list a directory outside": f"ls {outside} | grep first",
        "see the directories of jobs": "ls STATE/work | grep jobs",
        "signal a process outside": f"kill -0 {os.getpid()}",
        "read the environment of a process outside": f"cat /proc/{os.getpid()}/environ | grep -a PATH",
        "connect to a port that is not granted": f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{other.server_port}'",
        "fetch a path that is not granted": "fetch /other | grep path=/other",
    }
    both = {"read what is granted": f"cat {granted}/plain", "fetch a path that is granted": "fetch /granted | grep path=/granted"}
    text = (f"read -r line; fetch() {{ bash -c \"exec 3<>/dev/tcp/127.0.0.1/{listener.server_port}; printf 'GET $1 HTTP/1.1\\r\\nHost: "
            f"127.0.0.1:{listener.server_port}\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3\"; }}; ")
    for name, act in {**rows, **both}.items():
        text += f"( {act} ) >/dev/null 2>&1 && echo 'done: {name}' || echo 'denied: {name}'; "

    def agents(directory):
        each = text.replace("STATE", directory)
        return [shell("bare", each, confine=False), shell("confined", each)]

    with daemon_with(agents) as daemon:
        lease = {"fs.read": [f"{granted}/**"], "net.fetch": [f"http://127.0.0.1:{listener.server_port}/granted"]}
        for job, outcome in ((daemon.run("bare"), "done"), (daemon.run("confined", lease), "denied")):
            result = job.end()
            assert result["final_status"] == "success", result
            for name in rows:
                assert f"{outcome}: {name}" in job.messages(), (job.agent, name, job.messages(), job.denials())
            for name in both:
                assert f"done: {name}" in job.messages(), (job.agent, name, job.messages(), job.denials())
            if outcome == "denied":
                assert job.denials().count(f"net.fetch http://127.0.0.1:{listener.server_port}/other") == 1, job.denials()


def each_question_gets_its_answer():
    """Lines without effect are kept by the worker no longer than until arcpd has them."""
    count = 200
    text = f"""read -r line; pad=$(printf '%01000d' 0); i=0; while [ $i -lt {count} ]; do i=$((i + 1))
echo '{{"type":"x-nothing","payload":{{"pad":"'$pad'"}}}}'
echo '{{"type":"authorize","id":"'$i'","payload":{{"capability":"fs.read","target":"/srv/one"}}}}'; done |
cat; i=0; while [ $i -lt {count} ]; do read -r line; case $line in *'"re":'*) i=$((i + 1));; esac; done; echo all"""
    with daemon_with([shell("asks", text, confine=False)]) as daemon:
        job = daemon.run("asks", {"fs.read": ["/srv/**"]})
        assert job.end()["final_status"] == "success"
        assert job.messages()[-1] == "all"


def agents_with_gateways_run_on_the_worker():
    text = "read -r line; case $line in *'\"endpoints\":{\"mcp\"'*) echo gateway;; esac; echo $PPID"
    agents = [shell("with", text, confine=False), shell("without", text, confine=False, gateways=False)]
    with daemon_with(agents, "tools: {servers: [{name: one, command: [/bin/cat]}]}\n") as daemon:
        for agent, said in (("with", ["gateway"]), ("without", [])):
            job = daemon.run(agent)
            assert job.end()["final_status"] == "success"
            messages = [message for message in job.messages() if "confine" not in message]
            assert messages == [*said, str(daemon.workers()[-1])], messages


def a_reload_gives_later_jobs_the_new_rows():
    agents = [shell("one", "read -r line; echo old", warm=1, confine=False),
              shell("many", SERVE, mode="serve", processes=1, concurrency=8, confine=False)]
    with daemon_with(agents) as daemon:
        assert daemon.run("one").end()["final_status"] == "success"
        running = daemon.run("many")
        running.wait(lambda: len(running.numbers()) >= 5)
        first = daemon.run("many").end()["result"]
        agents[0]["command"][2] = "read -r line; echo new"
        daemon.agents(agents)
        daemon.process.send_signal(signal.SIGHUP)
        job = daemon.run("one")
        while "old" in (job.end() and job.messages()):  # until the signal was taken
            job = daemon.run("one")
        assert job.messages()[-1] == "new", job.messages()
        assert daemon.run("many").end()["result"] == first  # its row is the same
        assert running.end()["result"] == first
        agents[1]["env"] = {"A": "b"}
        daemon.agents(agents)
        daemon.process.send_signal(signal.SIGHUP)
        while daemon.run("many").end()["result"] == first:
            pass


def main():
    with tempfile.TemporaryDirectory(prefix="arcp-place-") as place:
        for path, text in (("outside/first", "secret"), ("outside/second", "secret"), ("outside/plain", ""), ("read/plain", "")):
            os.makedirs(os.path.dirname(os.path.join(place, path)), exist_ok=True)
            with open(os.path.join(place, path), "w", encoding="utf8") as file:
                file.write(text + "\n")
        jobs_go_on_while_arcpd_is_killed(place)
        the_sandbox_holds_on_a_worker(place)
    each_question_gets_its_answer()
    agents_with_gateways_run_on_the_worker()
    a_reload_gives_later_jobs_the_new_rows()


main()
