"""An agent of one principal neither takes the secrets of its arcpd nor speaks for the agent of another.

    tests/enforce/forgery_test.py BIN_DIR

Both agents run as arcpd's own user, which is what arcpd does by default. Each attempt is made twice: without sandboxes, where it must succeed
(else it proves nothing), and with them, under a lease that grants everything for reading and writing, where it must not. Exit status 77:
this host has no level full."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile

BIN = sys.argv[1] if len(sys.argv) > 1 else "build-dev/bin"
# Of the other job: a descriptor of its agent's output, which arcpd reads. The agent waits until the attempt is over.
ATTACK = r"""
import glob, json, os
forged = json.dumps({"type": "job.result", "payload": {"result": "forged"}}) + "\n"
got = []
def tries(name, act):
    try:
        if act():
            got.append(name)
    except OSError:
        pass
def read(path):
    with open(path, "rb") as file:
        return file.read(1) != b""
def is_victim(path):
    try:
        with open(path, "rb") as file:
            return b"of-the-victim" in file.read().split(b"\0")
    except OSError:
        return False
def victims():
    return [path.split("/")[2] for path in glob.glob("/proc/[0-9]*/cmdline") if is_victim(path)]
def forge(pid):
    with open(f"/proc/{pid}/fd/1", "w") as file:
        return file.write(forged) > 0
tries("token", lambda: read("{state}/token"))
tries("configuration", lambda: read("{directory}/arcpd.yaml"))
tries("store", lambda: read("{state}/arcp.db"))
for pid in victims():  # also those that it has started, which may have ended
    tries("environment", lambda: read(f"/proc/{pid}/environ"))
    tries("signal", lambda: os.kill(int(pid), 0) is None)
    tries("result", lambda: forge(pid))
print("GOT", " ".join(got))
"""
ALL = ["token", "configuration", "store", "environment", "signal", "result"]


class Session:
    """A connection of a principal, by a process of `arcp`."""

    def __init__(self, directory, port, token):
        self.environment = {**os.environ, "HOME": directory, "ARCP_URL": f"ws://127.0.0.1:{port}/arcp", "ARCP_TOKEN": token}

    def submit(self, agent, lease):
        return subprocess.Popen([f"{BIN}/arcp", "submit", agent, "--lease", json.dumps(lease), "--json"], env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def attempt(enforce):
    """What the attacker got, and the other principal's result."""
    with tempfile.TemporaryDirectory(prefix="arcp-forgery-", dir=f"{BIN}/../tests") as directory:
        directory = os.path.realpath(directory)  # not below /tmp, which is private inside
        state = f"{directory}/state"
        os.mkdir(state, 0o700)
        with open(f"{directory}/attack.py", "w", encoding="utf8") as file:
            file.write(ATTACK.replace("{state}", state).replace("{directory}", directory))
        # The victim's result is its own, after the attacker has ended.
        script = f"read -r start; until [ -e {directory}/over ]; do sleep 0.02; done; " \
            """echo '{"type":"job.result","payload":{"result":"own"}}'"""
        with open(f"{directory}/arcpd.yaml", "w", encoding="utf8") as file:
            file.write(f"""tokens: [{{principal: alice, token: a-token-of-the-tests}}, {{principal: bob, token: another-token-of-the-tests}}]
store: "sqlite:{state}/arcp.db"
agents:
  - {{name: victim, command: [/bin/sh, -c, {json.dumps(script)}, of-the-victim]}}
  - {{name: attacker, mode: plain, command: [/usr/bin/python3, {directory}/attack.py]}}
""")
        with open(f"{state}/token", "w", encoding="utf8") as file:
            file.write("a-token-of-arcpd\n")
        os.chmod(f"{state}/token", 0o600)
        arcpd = subprocess.Popen([f"{BIN}/arcpd", "--config", f"{directory}/arcpd.yaml", "--listen", "ws://127.0.0.1:0", "--enforce", enforce], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True,
                                 env={"PATH": os.environ["PATH"], "HOME": directory, "STATE_DIRECTORY": state})
        try:
            port = arcpd.stdout.readline().rsplit(":", 1)[1].split("/")[0].strip()
            victim = Session(directory, port, "another-token-of-the-tests").submit("victim", {"fs.read": ["/**"]})
            first = victim.stdout.readline()  # job.accepted
            assert "accepted" in first, first
            attacker = Session(directory, port, "a-token-of-the-tests").submit("attacker", {"fs.read": ["/**"], "fs.write": ["/**"]})
            said = attacker.communicate(timeout=60)[0]
            with open(f"{directory}/over", "w", encoding="utf8"):
                pass
            result = victim.communicate(timeout=60)[0]
        finally:
            arcpd.terminate()
            arcpd.wait(timeout=60)
    line = next(line for line in said.splitlines() if "GOT" in line)
    return [name for name in ALL if f" {name}" in line], "own" if '"own"' in result else "forged" if '"forged"' in result else result


def main():
    doctor = subprocess.run([f"{BIN}/arcp", "doctor"], stdout=subprocess.DEVNULL, check=False)
    if doctor.returncode != 0 and "CI" not in os.environ:
        print("not run: this host has no level full")
        return 77
    got, result = attempt("off")
    assert got == ALL and result == "forged", ("without sandboxes", got, result)
    got, result = attempt("on")
    assert got == [] and result == "own", ("in sandboxes", got, result)
    print("forgery: 6 attempts succeed bare, and none in a sandbox")
    return 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
