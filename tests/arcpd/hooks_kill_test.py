"""Notifications under kill -9 of arcpd, to a receiver that fails, closes connections and is slow: each arrives at
least once, always with the same body, and none that no hook matches.

    tests/arcpd/hooks_kill_test.py BIN_DIR [NOTIFICATIONS]
"""
import json
import os
import random
import subprocess
import sys
import threading
import time

from hooks import BIN, Daemon, Receiver

HOOKS = 50  # that match
NOTIFICATIONS = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("ARCP_NOTIFICATIONS", "1000"))
JOBS = NOTIFICATIONS // HOOKS
KILLS = 10  # at least


def main():
    seed = int(os.environ.get("ARCP_SEED", str(time.time_ns() % 1000000)))
    print(f"seed {seed} (ARCP_SEED), {JOBS} jobs, {HOOKS} hooks", flush=True)
    draw = random.Random(seed)
    lock = threading.Lock()

    def answer(handler):
        with lock:
            what = draw.random()
        if what < 0.25:
            return 500
        if what < 0.35:
            handler.close_connection = True
            return None
        if what < 0.4:
            threading.Event().wait(0.2)
        return 204

    receiver = Receiver(answer)
    daemon = Daemon(BIN, "")
    with daemon:
        text = "".join(daemon.hook(f"h{i}", "end", f"{receiver.url}/h{i}") for i in range(HOOKS))
        text += daemon.hook("other", "end", receiver.url + "/other", ", principal: nobody")
        daemon.configure(text)
        kills = 0
        while kills < KILLS or len({body["job"]["job_id"] for _, body in receiver.arrived}) < JOBS:
            daemon.start()
            at = len(receiver.arrived) + draw.randrange(1, 8 * HOOKS)
            clients = [subprocess.Popen(daemon.words(("submit", "quick")), env=daemon.environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                       for _ in range(10)]
            receiver.wait(lambda arrived, at=at: len(arrived) >= at)
            kills += 1
            daemon.kill()  # jobs that run then end at the next start
            for client in clients:
                client.kill()
                client.wait()
        receiver.answer = lambda handler: 204
        daemon.start()
        daemon.arcp("submit", "quick")
        while daemon.waiting():
            threading.Event().wait(0.2)
        check(daemon, receiver, kills)


def check(daemon, receiver, kills):
    jobs = [json.loads(line) for line in daemon.arcp("jobs", "--all", "-o", "json").splitlines()]
    bodies, arrived = {}, set()
    for path, body in receiver.arrived:
        known = bodies.setdefault(body["id"], (path, body))
        assert known == (path, body), f"{known} and {(path, body)}"
        arrived.add((path, body["job"]["job_id"]))
    assert receiver.unsigned == 0
    assert not [path for path, _ in arrived if path == "/other"]
    ended = {job["job_id"] for job in jobs}
    missing = [(i, job) for job in ended for i in range(HOOKS) if (f"/h{i}", job) not in arrived]
    assert not missing, f"{len(missing)} did not arrive: {missing[:5]}"
    assert {job for _, job in arrived} <= ended
    assert len(bodies) >= NOTIFICATIONS
    assert len(bodies) == len(ended) * HOOKS, f"{len(bodies)} notifications of {len(ended)} jobs"
    print(f"{len(bodies)} notifications of {len(ended)} jobs arrived, in {len(receiver.arrived)} attempts, "
          f"over {kills} kills")


if __name__ == "__main__":
    main()
