"""Agents with a sandbox, with warm and with served processes on a worker of another machine: what is denied them there,
what arcpd expects of that machine, and where their jobs' directories are.

    tests/arcpd/remote_hosting_test.py BIN_DIR"""
import http.server
import json
import os
import tempfile
import threading

from hooks import Authority
from remote_workers import BIN, Process, Rig, joined, until

LINE = """read -r line; cwd=${line#*'"cwd":"'}; cwd=${cwd%%'"'*}; """
SERVE = """while read -r line; do case $line in *'"job.start"'*) id=${line#*'"job_id":"'}; id=${id%%'"'*}
case $line in *'"cwd":null'*) cwd=none;; *) cwd=some;; esac
echo '{"job_id":"'$id'","type":"job.result","payload":{"result":"'$$' '$cwd'"}}';; esac; done"""


class Server(http.server.ThreadingHTTPServer):
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


def shell(name, text, **more):
    return {"name": name, "command": ["/bin/sh", "-c", text], "confine": True, **more}


def confining(rig, **settings):
    with open(rig.path("arcpd.yaml"), encoding="utf8") as file:
        text = file.read().replace('enforce: {mode: "off"}', f"enforce: {json.dumps(settings)}")
    rig.write("arcpd.yaml", text)


def start(rig, name, agents, without="", more=""):
    config = rig.worker_config(name, agents)
    with open(config, "a", encoding="utf8") as file:
        file.write(more)
    worker = Process([f"{BIN}/arcp-worker", "--config", config], {**rig.environment, "ARCP_SANDBOX_WITHOUT": without})
    rig.workers.append(worker)
    joined(rig, name)
    return worker


def run(rig, agent, lease, status=0):
    return rig.arcp("submit", agent, "--lease", json.dumps(lease), status=status)


def the_sandbox_holds(rig):
    """Each row is done by an agent without a sandbox, and denied to one with it; also where arcpd itself confines nothing."""
    outside, granted = rig.path("outside"), rig.path("granted")
    for directory in (outside, granted):
        os.makedirs(directory)
        rig.write(os.path.join(directory, "file"), "text\n")
    server = Server()
    rows = {"read a file outside": f"cat {outside}/file", "write what is granted to be read": f"echo x >>{granted}/file",
            "read the worker's token": f"cat {rig.path('gpu-1.token')}", "see the worker's state": f"ls {rig.path('gpu-1')} | grep work",
            "fetch a path that is not granted": "fetch /other | grep path=/other"}
    both = {"read what is granted": f"cat {granted}/file", "fetch a path that is granted": "fetch /granted | grep path=/granted"}
    text = LINE + (f"fetch() {{ bash -c \"exec 3<>/dev/tcp/127.0.0.1/{server.server_port}; printf 'GET $1 HTTP/1.1\\r\\nHost: 127.0.0.1:"
                   f"{server.server_port}\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3\"; }}; ")
    for name, act in {**rows, **both}.items():
        text += f'( {act} ) >/dev/null 2>&1 && echo "done: {name}" || echo "denied: {name}"; '
    text += '[ "$cwd" = "$(pwd)" ] && echo x >"$cwd/own" && echo "at home"'
    rig.start_arcpd()
    agents = [shell("bare", text, confine=False), shell("confined", text), shell("warm", text, warm=1)]
    start(rig, "gpu-1", agents)
    lease = {"fs.read": [f"{granted}/**"], "net.fetch": [f"http://127.0.0.1:{server.server_port}/granted"]}
    for agent, outcome in (("bare", "done"), ("confined", "denied"), ("warm", "denied"), ("warm", "denied")):
        job = json.loads(rig.arcp("submit", agent, "--detach", "--json", "--lease", json.dumps(lease)).splitlines()[0])["job_id"]
        rig.arcp("wait", job)
        events = rig.events(job)
        expected = {f"{outcome}: {name}" for name in rows} | {f"done: {name}" for name in both} | {"at home"}
        assert expected <= set(events), (agent, expected - set(events), events)


def served_processes_are_shared_and_confined(rig):
    rig.start_arcpd()
    start(rig, "gpu-1", [shell("many", SERVE, mode="serve", processes=1, concurrency=3)])
    first, second = run(rig, "many", {}).split(), run(rig, "many", {}).split()
    assert first == second and first[1] == "none", (first, second)
    row = json.loads(rig.arcp("workers", "--json"))
    assert row["agents"][0]["max_jobs"] == 3 and row["agents"][0]["mode"] == "serve", row


def a_row_with_a_directory_has_its_jobs_there(rig):
    directory = rig.path("there")
    os.makedirs(directory)
    rig.start_arcpd()
    start(rig, "gpu-1", [shell("there", LINE + 'echo "$cwd $(pwd)"', cwd=directory, confine=False)])
    job = rig.submit("there")
    rig.arcp("wait", job)
    assert rig.events(job) == [f"{directory} {directory}"], rig.events(job)


def a_job_goes_to_a_machine_that_can_enforce_its_lease(rig):
    """A pattern with a wildcard inside needs a broker. The worker with the lower name has none."""
    lease = {"fs.read": ["/srv/*/x"]}
    confining(rig, min="exact")
    rig.start_arcpd()
    start(rig, "gpu-1", [shell("who", LINE + "echo one")], without="broker")
    said = run(rig, "who", lease, status=4)
    assert "PERMISSION_DENIED" in said and "enforce.min exact does not accept that" in said, said
    start(rig, "gpu-2", [shell("who", LINE + "echo two")])
    job = json.loads(rig.arcp("submit", "who", "--detach", "--json", "--lease", json.dumps(lease)).splitlines()[0])["job_id"]
    rig.arcp("wait", job)
    assert rig.events(job) == ["two"], rig.events(job)


def a_machine_without_sandboxes_gets_no_confined_job(rig):
    rig.start_arcpd()
    worker = start(rig, "gpu-1", [shell("who", LINE + "echo one")], without="seccomp")
    until(lambda: "cannot confine agents" in worker.log, lambda: worker.log)
    said = run(rig, "who", {}, status=1)
    assert "AGENT_NOT_AVAILABLE" in said and "the worker's machine cannot confine agents" in said, said


def the_workers_own_minimum_counts_too(rig):
    rig.start_arcpd()
    start(rig, "gpu-1", [shell("who", LINE + "echo one", stderr_in_errors=True)], without="broker", more="enforce: {min: exact}\n")
    said = run(rig, "who", {"fs.read": ["/srv/*/x"]}, status=1)
    assert "enforces a line of the lease less exactly than enforce.min says" in said, said


def an_agent_without_a_sandbox_says_so(rig):
    confining(rig, mode="on")
    rig.start_arcpd()
    start(rig, "gpu-1", [shell("bare", LINE + "echo one", confine=False)])
    job = rig.submit("bare")
    rig.arcp("wait", job)
    assert "the agent is not confined (confine: false)" in rig.events(job)[0], rig.events(job)


def main():
    with tempfile.TemporaryDirectory() as directory:
        authority = Authority(directory)
        for test in (the_sandbox_holds, served_processes_are_shared_and_confined, a_row_with_a_directory_has_its_jobs_there,
                     a_job_goes_to_a_machine_that_can_enforce_its_lease, a_machine_without_sandboxes_gets_no_confined_job,
                     the_workers_own_minimum_counts_too, an_agent_without_a_sandbox_says_so):
            print(test.__name__, flush=True)
            with Rig(authority) as rig:
                test(rig)


main()
