"""Workers that connect over TLS, with real programs: a job there while arcpd is killed (-9) and while the link is cut, wrong
tokens, rows that are read again.

    tests/arcpd/remote_worker_test.py BIN_DIR"""
import json
import os
import re
import signal
import tempfile
import time

from hooks import Authority
from remote_workers import BIN, COUNT, PATIENCE_SEC, TOKEN, WORKER_TOKEN, Process, Rig, joined, until


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


def a_job_goes_on_when_rows_are_read_without_arcpd(rig):
    rig.start_arcpd()
    hold = ["sh", "-c", 'echo begun; until [ -e "$0" ]; do sleep 0.05; done; echo \'{"type":"job.result","payload":{}}\'', rig.path("go on")]
    worker = rig.start_worker("gpu-1", [{"name": "hold", "command": hold}])
    joined(rig, "gpu-1")
    job = rig.submit("hold")
    until(lambda: "begun" in rig.events(job), "begun")
    rig.arcpd.end()
    worker.wait_for("arcpd is away")
    os.kill(worker.process.pid, signal.SIGHUP)
    worker.wait_for("its rows are read again")
    ticks = time.monotonic() + 2  # it looks at its lock file each second
    until(lambda: time.monotonic() > ticks or "it ends" in worker.log, "time")
    assert "it ends" not in worker.log, worker.log
    rig.start_arcpd()
    rig.write("go on", "")
    rig.arcp("wait", job)


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
    hold = ["sh", "-c", 'echo begun; until [ -e "$0" ]; do sleep 0.05; done; echo \'{"type":"job.result","payload":{}}\'', rig.path("go on")]
    worker = rig.start_worker("gpu-1", [{"name": "hold", "command": hold}])
    joined(rig, "gpu-1")
    job = rig.submit("hold")
    until(lambda: "begun" in rig.events(job), "begun")
    row = json.loads(rig.arcp("workers", "--json"))
    assert (row["name"], row["state"], row["jobs"], row["capacity"], row["agents"]) == ("gpu-1", "joined", 1, 4, [{"agent": "hold", "mode": "arcp", "jobs": 1}]), row
    assert row["peer"].startswith("127.0.0.1") and "drains_since" not in row, row
    assert re.fullmatch(r"[-0-9]{10}T[:0-9.]+Z", row["since"]), row
    assert "the worker is connected" in rig.arcp("workers", "forget", "gpu-1", status=1)
    assert "no worker" in rig.arcp("workers", "drain", "gpu-2", status=1)
    rig.arcp("workers", "drain", "gpu-1")
    row = json.loads(rig.arcp("workers", "--json"))
    assert row["state"] == "draining" and row["drains_since"] >= row["since"], row
    rig.write("go on", "")
    rig.arcp("wait", job)
    assert worker.process.wait(PATIENCE_SEC) == 0
    until(lambda: rig.arcp("workers", "--json") == "", "it has ended")


def another_worker_that_offers_the_agent_takes_its_jobs(rig):
    rig.start_arcpd()
    first = rig.start_worker("gpu-1", [{"name": "who", "mode": "plain", "command": ["echo", "one"]}])
    joined(rig, "gpu-1")
    rig.start_worker("gpu-2", [{"name": "who", "mode": "plain", "command": ["echo", "two"]}])
    joined(rig, "gpu-2")
    rig.arcpd.wait_for('offer the agent "who" with different rows')
    assert [line.split()[-1] for line in rig.arcp("workers").splitlines()[1:]] == ["who*", "who*"]
    assert rig.arcp("submit", "who") == "one\n"
    rig.arcp("workers", "drain", "gpu-1")
    assert first.process.wait(PATIENCE_SEC) == 0
    assert rig.arcp("submit", "who") == "two\n"


def the_jobs_of_a_forgotten_worker_end(rig):
    rig.start_arcpd()
    worker = rig.start_worker("gpu-1", [{"name": "sleeper", "mode": "plain", "command": ["sleep", "1000"]}])
    joined(rig, "gpu-1")
    job = rig.submit("sleeper")
    until(lambda: json.loads(rig.arcp("show", job, "--json"))["status"] == "running", "it runs")
    worker.end()
    until(lambda: json.loads(rig.arcp("workers", "--json"))["state"] == "away", "it is away")
    row = json.loads(rig.arcp("workers", "--json"))
    assert row["jobs"] == 1 and "peer" not in row, row
    rig.arcp("workers", "forget", "gpu-1")
    assert rig.arcp("workers", "--json") == ""
    rig.arcp("wait", job, status=1)
    assert "the job's worker is lost" in rig.arcp("show", job)


def main():
    bounded = f"{{token: {WORKER_TOKEN}, name: gpu-1, agents: ['train-*'], max_jobs: 2}}"
    tests = [(a_job_runs_on_the_worker_with_its_own_row, None), (a_job_goes_on_while_arcpd_is_killed, None),
             (a_job_goes_on_while_the_link_is_cut, None), (a_wrong_token_is_refused_and_said, None),
             (another_life_has_the_name_until_it_leaves, None), (rows_are_read_again, None),
             (a_job_goes_on_when_rows_are_read_without_arcpd, None),
             (operators_see_drain_and_forget_workers, None), (another_worker_that_offers_the_agent_takes_its_jobs, None),
             (the_jobs_of_a_forgotten_worker_end, None), (a_token_bounds_the_agents, bounded), (a_token_that_is_removed_ends_the_link, None)]
    with tempfile.TemporaryDirectory() as directory:
        authority = Authority(directory)
        for test, tokens in tests:
            print(test.__name__, flush=True)
            with Rig(authority, tokens) as rig:
                test(rig)


main()
