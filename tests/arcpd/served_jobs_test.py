"""Many jobs in one served process (mode: serve), with each helper: all of them end in that process, and neither it nor
arcpd grows with their number.

    tests/arcpd/served_jobs_test.py BIN_DIR SHARE_DIR

SHARE_DIR has arcp_agent.py and arcp-agent.mjs. ARCP_SERVED_JOBS (300): jobs with each helper."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BIN, SHARE = sys.argv[1:3]
JOBS = int(os.environ.get("ARCP_SERVED_JOBS", "300"))
AT_ONCE = 64
# Since a tenth of the jobs had ended: a session keeps 4 MiB of responses for requests that are repeated, and allocators
# keep blocks. A million jobs, of which 17 bytes are kept, need more.
GROWTH_KB_MAX = 16 << 10
PYTHON = """import os
import arcp_agent
{kind} run(job):
    {call}job.log("an event")
    return os.getpid()
arcp_agent.serve(run)
"""
NODE = """import {{ serve }} from {helper};
serve(async (job) => {{
  await job.log('an event');
  return process.pid;
}});
"""
AGENTS = {
    "threads": [sys.executable, "-B", "-c", PYTHON.format(kind="def", call="")],
    "asyncio": [sys.executable, "-B", "-c", PYTHON.format(kind="async def", call="await ")],
    "node": ["node", "--input-type=module", "-e", NODE.format(helper=json.dumps(os.path.join(SHARE, "arcp-agent.mjs")))],
}


def memory_kb(pid):
    with open(f"/proc/{pid}/status", encoding="utf8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))


class Daemon:
    """arcpd, and a session with it over its standard input and output."""

    def __init__(self, directory):
        self.names = [name for name in AGENTS if name != "node" or shutil.which("node")]
        rows = "".join(f"  - {{name: {name}, mode: serve, processes: 1, concurrency: {AT_ONCE}, env: {{PYTHONPATH: {SHARE}}}, "
                       f"command: {json.dumps(AGENTS[name])}}}\n" for name in self.names)
        self.next_id = self.last_seq = 0
        config = os.path.join(directory, "arcpd.yaml")
        with open(config, "w", encoding="utf8") as file:
            file.write(f"""store: "memory:"
enforce: {{mode: "off"}}
limits: {{submits_per_sec: 0}}
jobs: {{keep_terminal_max: 100, keep_terminal_sec: 1}}
agents:
{rows}""")
        self.process = subprocess.Popen([f"{BIN}/arcpd", "--stdio", "--log-level", "warn", "--config", config], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**os.environ, "STATE_DIRECTORY": directory})
        self.send({"type": "session.hello", "payload": {"capabilities": {"features": ["ack"]}}})
        self.flush()
        assert self.read()["type"] == "session.welcome"

    def send(self, line):
        self.next_id += 1
        self.process.stdin.write(json.dumps({"arcp": "1.1", "id": f"m{self.next_id}", **line}).encode() + b"\n")

    def flush(self):
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        assert line, f"arcpd ended with {self.process.wait()}"
        return json.loads(line)

    def run(self, agent, count):
        """Runs jobs, AT_ONCE at a time; the process that they ran in."""
        sent = ended = 0
        pids = set()
        while ended < count:
            while sent < count and sent - ended < AT_ONCE:
                self.send({"type": "job.submit", "payload": {"agent": agent}})
                sent += 1
            self.flush()
            frame = self.read()
            assert frame["type"] != "job.error", frame
            self.last_seq = frame.get("event_seq", self.last_seq)
            if frame["type"] == "job.result":
                pids.add(frame["payload"]["result"])
                ended += 1
                if ended % 100 == 0:  # what is not acknowledged is kept for a resume
                    self.send({"type": "session.ack", "payload": {"last_processed_seq": self.last_seq}})
        assert len(pids) == 1, pids
        return pids.pop()

    def stop(self):
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait()


def check(daemon, agent):
    first = daemon.run(agent, JOBS // 10)
    before = {"arcpd": memory_kb(daemon.process.pid), agent: memory_kb(first)}
    last = daemon.run(agent, JOBS - JOBS // 10)
    after = {"arcpd": memory_kb(daemon.process.pid), agent: memory_kb(last)}
    print(f"{JOBS} jobs of {agent}: memory {before} KB, then {after} KB", flush=True)
    assert first == last
    for name, kb in after.items():
        assert kb - before[name] < GROWTH_KB_MAX, (name, before, after)


def main():
    with tempfile.TemporaryDirectory() as directory:
        daemon = Daemon(directory)
        try:
            for agent in daemon.names:
                check(daemon, agent)
            assert daemon.stop() == 0
        finally:
            daemon.process.kill()


main()
