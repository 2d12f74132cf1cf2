"""Many confined jobs of one arcpd at once, ended in every way: nothing of them is left, and arcpd is as it was before.

    tests/enforce/arcpd_stress_test.py BIN_DIR

Jobs read, write and connect to what their leases grant, and to what they do not; they wait warm or are started cold; they
end by themselves, by a cancel, an expiry, a timeout, and by a kill of their sandbox; budgets end, and with them what the
broker serves. ARCP_STRESS_JOBS (24): jobs at once. ARCP_STRESS_SECONDS (0): for how long at least; 3 jobs in each place
in any case. ARCP_SEED. Exit status 77: this host has no level full."""
import collections
import contextlib
import datetime
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

BIN = sys.argv[1] if len(sys.argv) > 1 else "build-dev/bin"
AT_ONCE = int(os.environ.get("ARCP_STRESS_JOBS", "24"))
SECONDS = float(os.environ.get("ARCP_STRESS_SECONDS", "0"))
SEED = int(os.environ.get("ARCP_SEED", str(time.time_ns() % 1000000)))
PATIENCE_SEC = 60
WARM = 3
SECRET = "a-secret-of-the-host"
# Of arcpd's memory, after the first jobs: a session keeps 4 MiB of responses for requests that are repeated, and malloc
# keeps blocks.
GROWTH_KB_MAX = 16 << 10
MARK = f"1{os.getpid()}.5"  # seconds: no other program sleeps for them
FORBIDDEN = "cat {dir}/outside/secret; ls {dir}/outside; echo x >{dir}/read/new; cat {dir}/texts/file"
RESULT = """echo '{"type":"job.result","payload":{"result":"done"}}'"""
AGENTS = {
    "quick": ("plain", 0, "cat {dir}/read/file {dir}/texts/a.txt; echo x >{dir}/write/$$ && rm {dir}/write/$$; " + FORBIDDEN + "; exit 0"),
    "stays": ("plain", 0, "trap '' TERM INT HUP; setsid sleep {mark} & (sleep {mark} &); " + FORBIDDEN + "; sleep {mark}"),
    "net": ("plain", 0, "exec 3<>/dev/tcp/localhost/{port} && printf 'GET /page HTTP/1.1\\r\\nHost: localhost:{port}\\r\\nConnection: close\\r\\n\\r\\n' >&3"
                        " && cat <&3; getent hosts denied.example; exec 4<>/dev/tcp/10.0.0.1/80; exit 0"),
    "warm": ("arcp", WARM, "read -r start; cat {dir}/read/file {dir}/texts/a.txt >&2; " + FORBIDDEN.replace("cat", "cat >&2") + "; " + RESULT),
    "warm-stays": ("arcp", WARM, "read -r start; setsid sleep {mark} & (cat {dir}/read/file; " + FORBIDDEN + ") >&2; exec sleep {mark}"),
    # Its budget is used up with the first cost.
    "spender": ("arcp", 0, "read -r start; cat {dir}/texts/a.txt >/dev/null || exit 3; "
                           """echo '{"type":"job.event","id":"1","payload":{"kind":"metric","body":{"name":"cost.x","value":2,"unit":"USD"}}}'; read -r reply; """
                           "i=0; while cat {dir}/texts/a.txt >/dev/null 2>&1; do i=$((i+1)); [ $i -lt 2000 ] || exit 4; done; " + RESULT),
}
ENDS = ["cancel", "expiry", "timeout", "kill"]


def complete(script, **places):
    for name, value in places.items():
        script = script.replace(f"{{{name}}}", str(value))
    return script


def started_by(pid):
    """The processes that one has started, by any of its threads."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    return found


def children(pid):
    """All processes below one, with their command lines."""
    found = {}
    for child in started_by(pid):
        found[child] = words_of(child)
        found.update(children(child))
    return found


def words_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().rstrip(b"\0").split(b"\0")
    return []


def status_of(pid, name):
    with open(f"/proc/{pid}/status", encoding="utf8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name + ":"))


def cgroups_of(pid):
    """The cgroups of this arcpd, of both versions, where they are mounted: each with whether it has processes."""
    found = {}
    for mount in ("/sys/fs/cgroup", *(f"/sys/fs/cgroup/{name}" for name in ("unified", "memory", "pids"))):
        for directory, names, _ in os.walk(mount):
            if f"/arcpd.{pid}." in directory:
                with contextlib.suppress(OSError), open(f"{directory}/cgroup.procs", encoding="ascii") as file:
                    found[directory] = file.read() != ""
    return found


def mounts():
    with open("/proc/self/mountinfo", encoding="utf8") as file:
        return len(file.readlines())


class Page(threading.Thread):
    """A server of the host, that leases name."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.served = 0
        self.start()

    def run(self):
        while True:
            with contextlib.suppress(OSError), self.listener.accept()[0] as one:
                if one.recv(4096):
                    one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\na page\n")
                    self.served += 1


class Daemon:
    def __init__(self, directory, port):
        self.directory, self.port = directory, port
        texts = {"read/file": "granted\n", "texts/a.txt": "granted\n", "texts/file": SECRET, "outside/secret": SECRET}
        for name in ("read", "texts", "outside", "write", "state"):
            os.mkdir(os.path.join(directory, name))
        for name, text in texts.items():
            with open(os.path.join(directory, name), "w", encoding="utf8") as file:
                file.write(text)
        agents = "".join(
            f"  - {{name: {name}, mode: {mode}, warm: {warm}, memory_bytes: 268435456, command: [/bin/bash, -c, "
            f"{json.dumps(complete(script, dir=directory, port=port, mark=MARK))}]}}\n"
            for name, (mode, warm, script) in AGENTS.items())
        with open(os.path.join(directory, "arcpd.yaml"), "w", encoding="utf8") as file:
            file.write(f"""tokens: [{{principal: alice, token: a-token-of-the-tests}}]
store: "sqlite:{directory}/state/arcp.db"
limits: {{jobs_per_session: 2000, jobs_per_principal: 2000}}
jobs: {{cancel_grace_ms: 50, keep_terminal_max: 20, keep_terminal_sec: 1}}
agents:
{agents}""")
        self.log = open(os.path.join(directory, "log"), "wb")
        self.process = subprocess.Popen(
            [f"{BIN}/arcpd", "--stdio", "--config", f"{directory}/arcpd.yaml"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.log, text=True, bufsize=1,
            env={"PATH": os.environ["PATH"], "HOME": directory, "STATE_DIRECTORY": f"{directory}/state"})
        self.pid = self.process.pid
        self.ids = 0
        self.send("session.hello", {"auth": {"scheme": "bearer", "token": "a-token-of-the-tests"}, "capabilities": {"features": ["lease_expires_at", "cost.budget", "ack"]}})
        assert self.read()["type"] == "session.welcome"

    def send(self, kind, payload, **more):
        self.ids += 1
        self.process.stdin.write(json.dumps({"arcp": "1.1", "id": f"m{self.ids}", "type": kind, "payload": payload, **more}) + "\n")

    def read(self):
        line = self.process.stdout.readline()
        assert line, f"arcpd ended: {self.process.poll()}"
        assert SECRET not in line, line
        return json.loads(line)

    def figures(self):
        """What must be the same before and after jobs, but for the memory."""
        return {"processes": sorted(b" ".join(words)[:80] for words in children(self.pid).values()),
                "descriptors": len(os.listdir(f"/proc/{self.pid}/fd")), "threads": status_of(self.pid, "Threads"),
                "mounts": mounts(), "cgroups": sorted(cgroups_of(self.pid).values()).count(True),
                "directories": sorted(os.listdir(f"{self.directory}/state"))}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.stdout.read()
        self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()
        return self.process.wait(PATIENCE_SEC)


class Load:
    """Keeps jobs in flight, and ends them."""

    def __init__(self, daemon, draw):
        self.daemon, self.draw = daemon, draw
        self.asked = collections.deque()  # submits without an answer
        self.cancels = set()  # ids of requests
        self.jobs = {}
        self.submitted = self.kills = 0
        self.ends = collections.Counter()
        self.denials = collections.Counter()

    def submit(self):
        where = self.daemon.directory
        agent = list(AGENTS)[self.submitted % len(AGENTS)]
        end = ENDS[self.submitted // len(AGENTS) % len(ENDS)] if agent.endswith("stays") else None
        self.submitted += 1
        lease = {"fs.read": [f"{where}/read/**", f"{where}/texts/*.txt"], "fs.write": [f"{where}/write/**"]}
        if agent == "net":
            lease = {"net.fetch": [f"http://localhost:{self.daemon.port}/**"]}
        if agent == "spender":
            lease = {"fs.read": [f"{where}/texts/*.txt"], "cost.budget": ["USD:1"]}
        payload = {"agent": agent, "lease_request": lease}
        if end == "expiry":
            at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)
            payload["lease_constraints"] = {"expires_at": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
        if end == "timeout":
            payload["max_runtime_sec"] = 1
        self.asked.append((agent, end))
        self.daemon.send("job.submit", payload)

    def kill_one(self):
        """As when a sandbox is killed by an operator: its monitor, which is arcpd's child."""
        monitors = started_by(self.daemon.pid)
        if monitors:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.draw.choice(monitors), signal.SIGKILL)
                self.kills += 1

    def take(self):
        frame = self.daemon.read()
        if frame.get("event_seq", 1) % 20 == 0:  # what is not acknowledged is kept for a resume
            self.daemon.send("session.ack", {"last_processed_seq": frame["event_seq"]})
        job, payload = frame.get("job_id"), frame.get("payload", {})
        if payload.get("reply_to") in self.cancels:
            return  # also that the job has ended meanwhile
        if frame["type"] == "job.accepted":
            self.jobs[payload.get("job_id", job)] = self.asked.popleft()
        elif frame["type"] == "job.event":
            body = payload.get("body", {})
            if body.get("phase") == "denied":
                self.denials[body.get("capability")] += 1
            end = self.jobs[job][1]
            # It has tried what it may not, so it is in the middle of its life.
            if body.get("phase") == "denied" and end in ("cancel", "kill"):
                self.jobs[job] = (self.jobs[job][0], None)
                self.daemon.send("job.cancel", {}, job_id=job)
                self.cancels.add(f"m{self.daemon.ids}")
                if end == "kill":
                    self.kill_one()
        elif frame["type"] in ("job.result", "job.error"):
            # On a busy machine a lease can have expired before it arrives: then the submit is refused.
            is_accepted = job in self.jobs
            agent, end = self.jobs.pop(job) if is_accepted else self.asked.popleft()
            assert is_accepted or end == "expiry", frame
            self.ends[f"{agent} {payload.get('code', 'success')}"] += 1
        else:
            raise AssertionError(frame)

    def run(self, at_once, count, seconds):
        begin = time.monotonic()
        while count > 0 or time.monotonic() - begin < seconds or self.jobs or self.asked:
            while len(self.jobs) + len(self.asked) < at_once and (count > 0 or time.monotonic() - begin < seconds):
                self.submit()
                count -= 1
            self.take()


def wait_for(is_done, what):
    end = time.monotonic() + PATIENCE_SEC
    while not is_done():
        assert time.monotonic() < end, what()
        threading.Event().wait(0.1)


def main():
    if subprocess.run([f"{BIN}/arcp", "doctor"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
        print("skipped: this host has no level full", flush=True)
        sys.exit(77)
    draw = random.Random(SEED)
    print(f"seed {SEED} (ARCP_SEED), {AT_ONCE} jobs at once", flush=True)
    mounts_before, page = mounts(), Page()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        daemon = Daemon(directory, page.port)
        try:
            measure(daemon, page, draw)
        finally:
            with open(os.path.join(directory, "log"), encoding="utf8", errors="replace") as file:
                tail = file.read()[-2000:]
            if daemon.process.poll() is None:
                daemon.process.kill()
        assert daemon.process.returncode == 0, tail
    assert not cgroups_of(daemon.pid)
    left = [pid for pid in os.listdir("/proc") if pid.isdigit() and MARK.encode() in words_of(int(pid))]
    assert not left, [words_of(int(pid)) for pid in left]
    assert mounts() == mounts_before


def settle(daemon):
    """The figures when only warm processes are left: of each its monitor, its init and itself."""
    found = []

    def is_settled():
        found.append(daemon.figures())
        return len(found) > 1 and found[-1] == found[-2] and len(found[-1]["processes"]) == 2 * WARM * 3

    wait_for(is_settled, lambda: found[-1])
    return found[-1]


def measure(daemon, page, draw):
    first = Load(daemon, draw)
    first.run(AT_ONCE, AT_ONCE, 0)  # what is made once: threads, caches, the prepared /etc, warm processes
    before, memory = settle(daemon), status_of(daemon.pid, "RssAnon")
    load = Load(daemon, draw)
    load.run(AT_ONCE, 3 * AT_ONCE, SECONDS)
    wait_for(lambda: daemon.figures() == before, lambda: f"{daemon.figures()}, before {before}")
    after = status_of(daemon.pid, "RssAnon")
    print(f"{load.ends.total()} jobs: {dict(sorted(load.ends.items()))}; denials {dict(load.denials)}; "
          f"{page.served} pages; memory of arcpd {memory} KB, then {after} KB", flush=True)
    load.ends += first.ends
    for agent in AGENTS:
        assert any(name.startswith(agent + " ") for name in load.ends), load.ends
    for code in ("CANCELLED", "LEASE_EXPIRED", "TIMEOUT"):
        assert any(name.endswith(code) for name in load.ends), load.ends
    assert load.denials["fs.read"] and load.denials["fs.write"] and load.denials["net.fetch"], load.denials
    assert load.kills > 0 and page.served > 0
    assert after - memory < GROWTH_KB_MAX, (memory, after)
    assert daemon.stop() == 0


main()
