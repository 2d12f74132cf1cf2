"""A real arcpd for the tests, and what tells a leak."""
import gc
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

import libarcp

ROOT = Path(__file__).resolve().parents[2]
BINARIES = Path(os.environ["ARCP_BINARY_DIR"]) / "bin"
TOKEN = "secret"


class Daemon:
    """arcpd on a port of its own."""

    def __init__(self, folder, *options, store="memory:"):
        self.folder = folder
        self.log = open(folder / "arcpd.log", "wb")
        here = Path(__file__).parent
        # Agents are not confined: the tests compare all events, and what Python is denied depends on the machine.
        command = [BINARIES / "arcpd", "--listen", "ws://127.0.0.1:0/arcp", "--store", store, "--enforce", "off", *options,
                   "--token", f"{TOKEN}=tester", "--agent", f"worker={here}/agent.py", "--agent", f"hello={here}/hello.sh"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_STATE_HOME": str(folder)}
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        ready = self.process.stdout.readline()
        assert ready.startswith("arcpd: ready "), ready + (folder / "arcpd.log").read_text()
        self.url = ready.split()[2]

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()
        self.log.close()


@pytest.fixture(scope="session")
def daemon(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("arcpd"))
    yield daemon
    daemon.stop()


@pytest.fixture
def silent_url():
    """Where connections are accepted and nothing is ever answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"ws://127.0.0.1:{server.getsockname()[1]}/arcp"


@pytest.fixture
def closed_url():
    """Where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return f"ws://127.0.0.1:{port}/arcp"


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def threads():
    """All of the process: Python's and the library's."""
    return len(os.listdir("/proc/self/task"))


@pytest.fixture
def at_rest(daemon):
    """Tells whether no client has a thread left; libuv's pool stays once it was needed."""
    libarcp.Client(daemon.url, TOKEN).close()
    gc.collect()
    count = threads()
    return lambda: until(lambda: threads() <= count)


def memory():
    """Resident bytes."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def until(condition, seconds=10.0):
    """Waits until the condition holds; whether it does."""
    pause = threading.Event()
    for _ in range(int(seconds * 50)):
        if condition():
            return True
        pause.wait(0.02)
    return condition()
