"""The runtimes that are compared, how each is started, and the one that is running."""

import os
import re
import resource
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from load import LoadError, PUSHED_EVENTS, last_line, resident_kb

READY = re.compile(rb"ready (ws://\S+)")
PATIENCE_SEC = 60


@dataclass(frozen=True)
class Runtime:
    """`command` is what starts it; "STORE" in it becomes a file of this start's own."""

    key: str
    title: str
    command: tuple
    is_ours: bool = False
    only_pushes: bool = False
    environment: tuple = ()  # pairs
    beside: str = ""  # the key of the same runtime without sandboxes


def ours(build):
    """Our own: the daemon with agents that are processes, bare (the peers confine nothing) and each in
    its sandbox; and callbacks inside a program."""
    agent = f"{build}/bin/arcp-bench-agent"
    host = f"{build}/bench/arcp-bench-host"

    def daemon(store, enforce):
        return (f"{build}/bin/arcpd", "--listen", "ws://127.0.0.1:0/arcp", "--store", store,
                "--token", "bench=bench", "--agent", f"bench={agent}", "--agent", f"quick={agent}",
                "--enforce", enforce, "--log-level", "error")

    return [
        Runtime("host-memory", "ours, callbacks, `memory:`", (host, "memory:"), True),
        Runtime("host-sqlite", "ours, callbacks, `sqlite:`", (host, "sqlite:STORE"), True),
        Runtime("arcpd-memory", "`arcpd`, processes, `memory:`", daemon("memory:", "off"), True),
        Runtime("arcpd-sqlite", "`arcpd`, processes, `sqlite:`", daemon("sqlite:STORE", "off"), True),
        Runtime("sandbox-memory", "`arcpd`, sandboxes, `memory:`", daemon("memory:", "on"), True,
                beside="arcpd-memory"),
        Runtime("sandbox-sqlite", "`arcpd`, sandboxes, `sqlite:`", daemon("sqlite:STORE", "on"), True,
                beside="arcpd-sqlite"),
    ]


def bare_push(build):
    return Runtime("bare-push", "bare push", (f"{build}/bench/arcp-bench-push", str(PUSHED_EVENTS)),
                   True, only_pushes=True)


class Running:
    """A started runtime; a context manager that ends it and everything it started."""

    def __init__(self, runtime):
        self.runtime = runtime
        self.url = None
        self.start_ms = None
        self._place = tempfile.TemporaryDirectory(prefix="arcp-bench-peers-")
        self._errors = open(Path(self._place.name) / "stderr", "w+b")
        self._process = None

    def __enter__(self):
        place = self._place.name
        command = [word.replace("STORE", f"{place}/events.db") for word in self.runtime.command]
        environment = {**os.environ, **dict(self.runtime.environment), "XDG_STATE_HOME": place}
        began = time.monotonic()
        try:
            self._process = subprocess.Popen(
                command, cwd=place, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True)
            self.url = self._await_ready(began)
        except OSError as why:
            self.__exit__()
            raise LoadError(f"{command[0]}: {why.strerror}") from why
        except LoadError:
            self.__exit__()
            raise
        self.start_ms = (time.monotonic() - began) * 1000
        return self

    def _await_ready(self, began):
        said = b""
        out = self._process.stdout.fileno()
        while READY.search(said) is None or not said.endswith(b"\n"):
            left = began + PATIENCE_SEC - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                raise LoadError(f"not ready after {PATIENCE_SEC} s")
            piece = os.read(out, 4096)
            if not piece:
                raise LoadError(f"ended before it was ready: {self.complaint()}")
            said += piece
        return READY.search(said).group(1).decode("ascii")

    def complaint(self):
        self._errors.flush()
        return last_line((Path(self._place.name) / "stderr").read_text(encoding="utf-8", errors="replace"))

    def resident_kb(self):
        try:
            return resident_kb(self._process.pid)
        except OSError as why:
            raise LoadError(f"it has ended: {self.complaint()}") from why

    def open_files(self):
        try:
            return len(os.listdir(f"/proc/{self._process.pid}/fd"))
        except OSError as why:
            raise LoadError(f"it has ended: {self.complaint()}") from why

    def __exit__(self, *_):
        process = self._process
        if process is not None:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    pass
            try:  # whatever is left of its process group
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            process.stdout.close()
        self._errors.close()
        self._place.cleanup()


def raise_file_limit():
    """Every idle session is an open file, on both sides."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
