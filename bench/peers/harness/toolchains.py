"""Getting the other runtimes from their languages' registries. NotRun says why one is not there; it
is part of the result and no failure."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from runtimes import Runtime

PEERS = Path(__file__).resolve().parent.parent
# The SDK and what it needs, with hashes: the same as `make interop` plays with.
PYTHON_LOCK = PEERS.parents[1] / "tests" / "interop" / "python" / "requirements.txt"
TIMEOUT_SEC = 240


class NotRun(Exception):
    """A peer that cannot be had on this machine; the text says why."""


@dataclass
class Peer:
    key: str
    title: str
    version: str
    runtimes: list
    lease_command: tuple


REFUSALS = (r"could not find artifact \S+", r"404 not found", r"403 forbidden", r"no matching distribution",
            r"error", r"fail")


def said(text):
    """The line of a tool's complaint that says most, without addresses."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in text.splitlines()]
    lines = [re.sub(r"https?://\S+?(?=[:)\s]*(\s|$))", "the registry", line) for line in lines if line]
    for refusal in REFUSALS:
        for line in lines:
            found = re.search(refusal, line, re.I)
            if found:
                return found.group(0) if "artifact" in refusal else line[:220]
    return lines[-1][:220] if lines else "no word"


def run(what, command, **options):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TIMEOUT_SEC, check=False, **options)
    except OSError as why:
        raise NotRun(f"{what}: {command[0]}: {why.strerror}") from why
    except subprocess.TimeoutExpired as late:
        raise NotRun(f"{what}: no end after {TIMEOUT_SEC} s") from late
    if done.returncode != 0:
        raise NotRun(f"{what}: {said(done.stderr + done.stdout)}")
    return done.stdout


def need(program, *others):
    for name in (program, *others):
        found = shutil.which(name)
        if found is not None:
            return found
    raise NotRun(f"there is no {program} on this machine")


def fingerprint(*files):
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()


# ---- Python ----


def python(place):
    """A virtual environment with the locked packages; made again when they change."""
    source = PEERS / "python"
    home = place / "python"
    stamp = home / "stamp"
    wanted = fingerprint(PYTHON_LOCK) + sys.version
    interpreter = home / "bin" / "python"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(home, ignore_errors=True)
        run("python3 -m venv", [sys.executable, "-m", "venv", str(home)])
        run("PyPI", [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                     "--require-hashes", "--requirement", str(PYTHON_LOCK)])
        stamp.write_text(wanted, encoding="utf-8")
    version = run("pip", [str(interpreter), "-c", "import importlib.metadata as m; "
                          "print(m.version('agentruntimecontrolprotocol'))"]).strip()
    program = str(source / "runtime.py")
    title = f"Python SDK {version}"
    return Peer("python", title, f"{version} from PyPI, Python {sys.version.split()[0]}", [
        Runtime("python-memory", f"{title}, in memory", (str(interpreter), program, "memory:")),
        Runtime("python-sqlite", f"{title}, SqliteEventLog", (str(interpreter), program, "sqlite:STORE")),
    ], (str(interpreter), str(source / "lease.py")))


# ---- Go ----

GO_MODULE = "github.com/agentruntimecontrolprotocol/go-sdk"


def go(place, checkout=None):
    """Built from the module proxy, or against a checkout of the SDK."""
    tool = need("go", "/usr/local/go/bin/go")
    source = place / "go"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(PEERS / "go", source)
    environment = {**os.environ, "GOFLAGS": "-buildvcs=false", "GOTOOLCHAIN": "local"}
    origin = "from the Go module proxy"
    if checkout is not None:
        run("go mod edit", [tool, "mod", "edit", f"-replace={GO_MODULE}={Path(checkout).resolve()}"],
            cwd=source, env=environment)
        origin = "from a checkout"
    for name in ("runtime", "lease"):
        run("the Go module proxy", [tool, "build", "-mod=mod", "-o", str(source / f"{name}-program"), f"./{name}"],
            cwd=source, env=environment)
    version = checkout_version(checkout) if checkout is not None else run(
        "go list", [tool, "list", "-m", "-f", "{{.Version}}", GO_MODULE], cwd=source, env=environment).strip()
    compiler = run("go version", [tool, "env", "GOVERSION"]).strip()
    title = f"Go SDK {version}"
    return Peer("go", title, f"{version} {origin}, {compiler}", [
        Runtime("go-memory", f"{title}, in memory", (str(source / "runtime-program"),)),
    ], (str(source / "lease-program"),))


def checkout_version(checkout):
    """What is there, which need not be the release that go.mod asks for."""
    try:
        return run("git", ["git", "-C", str(checkout), "describe", "--tags", "--always"]).strip()
    except NotRun:
        return "of no commit"


# ---- Java, TypeScript ----

JAVA_ARTIFACT = "io.agentruntimecontrolprotocol:arcp-runtime-jetty:1.0.0"
NPM_PACKAGE = "@agentruntimecontrolprotocol/sdk"


def java():
    """Nothing to compare as long as the registry has no such artifact."""
    tool = need("mvn")
    run("Maven Central", [tool, "-B", "-U", "dependency:get", "-Dtransitive=false",
                          f"-Dartifact={JAVA_ARTIFACT}"])
    raise NotRun(f"{JAVA_ARTIFACT} is served now, and no program for it is here")


def typescript():
    tool = need("npm")
    run("npm", [tool, "view", NPM_PACKAGE, "version"])
    raise NotRun(f"{NPM_PACKAGE} is served now, and no program for it is here")


def all_peers(place, go_sdk=None):
    """(peers, reasons): those that can be had, and (title, why not) of the others."""
    place.mkdir(parents=True, exist_ok=True)
    peers = []
    missing = []
    for title, get in (("Python SDK", lambda: python(place)), ("Go SDK", lambda: go(place, go_sdk)),
                       ("Java SDK", java), ("TypeScript SDK", typescript)):
        try:
            peers.append(get())
        except NotRun as why:
            missing.append((title, str(why)))
    return peers, missing
