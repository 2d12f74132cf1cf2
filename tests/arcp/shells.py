#!/usr/bin/env python3
"""Completion in real shells, with what a real arcpd has: each row is typed into bash, zsh and fish.

    tests/arcp/shells.py SOURCE BUILD

Without zsh or fish (tools/install-deps.sh --dev) the others are tested, and the exit status is 77; with CI set that is a failure.
"""

import os
import pty
import select
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../dashboard"))
from arcpd import Arcpd  # noqa: E402

CONFIG = """
store: "memory:"
enforce: {{mode: off}}
tokens: [{{token: ta, principal: alice, role: viewer}}]
agents:
  - {{name: hello, command: [echo, hi], mode: plain}}
  - {{name: help-desk, command: [echo, hi], mode: plain}}
  - {{name: other, command: [echo, hi], mode: plain}}
"""

CLIENT = """
url: {url}
token: ta
"""

DEADLINE = 60


class Failed(Exception):
    """A shell did not offer what it should."""


class Terminal:
    """A shell on a pseudo-terminal."""

    def __init__(self, command, environment, directory):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe(command[0], command, environment)
        self.text = ""

    def write(self, text):
        os.write(self.fd, text.encode())

    def read_until(self, mark):
        """What was printed up to the mark, and what of it is on its line."""
        end = time.monotonic() + DEADLINE
        while mark not in self.text or "\n" not in self.text.split(mark, 1)[1]:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise Failed(f"no {mark!r} in {self.text!r}")
            self.text += os.read(self.fd, 65536).decode(errors="replace")
        before, self.text = self.text.split(mark, 1)
        line, self.text = self.text.split("\n", 1)
        return before, line.strip()

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


class Readline:
    """bash or zsh: a key inserts all completions; the line is then printed instead of executed."""

    def __init__(self, command, place, setup, key):
        self.key = key
        self.terminal = Terminal(command, place.environment, place.arcpd.directory)
        self.terminal.write(setup + "\n" + "answer() { printf '%s%s\\n' 'ANS' \"WER:$*\"; }; answer begin\n")
        self.terminal.read_until("ANSWER:begin")

    def complete(self, line):
        """The words that stand at the place of the last one."""
        self.terminal.write(line + self.key + "\x01answer \r")
        _, answer = self.terminal.read_until("ANSWER:")
        typed = line.rsplit(" ", 1)
        begin = typed[0] + " "
        if not answer.startswith(begin):
            raise Failed(f"{line!r} became {answer!r}")
        words = answer[len(begin):].split()
        return [] if words == typed[1].split() else words

    def close(self):
        self.terminal.close()


class Bash(Readline):
    """The script is sourced."""

    def __init__(self, place):
        super().__init__(["bash", "--norc", "--noprofile", "-i"], place,
                         f"source '{place.scripts}/arcp.bash'; source '{place.scripts}/arcpd.bash'; bind 'set enable-bracketed-paste off'",
                         "\x1b*")


class Zsh(Readline):
    """The script is found in $fpath."""

    def __init__(self, place, source=""):
        super().__init__(["zsh", "-f", "-i"], place,
                         f"""fpath=("{place.scripts}/{'zsh-sourced' if source else 'zsh'}" $fpath); unset zle_bracketed_paste; setopt nobeep
autoload -U compinit; compinit -u -D; {source}
zle -C all-matches complete-word _generic; bindkey '^Xa' all-matches
zstyle ':completion:all-matches:*' completer _all_matches _complete; zstyle ':completion:all-matches:*' old-matches true
zstyle ':completion:all-matches:*' insert true""", "\x18a")


class SourcedZsh(Zsh):
    """The script is sourced."""

    def __init__(self, place):
        super().__init__(place, "source <(arcp completion zsh); autoload -U _arcpd; compdef _arcpd arcpd")


class Fish:
    """`complete -C` asks what TAB asks."""

    def __init__(self, place):
        self.place = place

    def complete(self, line):
        script = f"source '{self.place.scripts}/arcp.fish'; source '{self.place.scripts}/arcpd.fish'; complete -C $argv[1]"
        done = subprocess.run(["fish", "--no-config", "-c", script, line], env=self.place.environment, cwd=self.place.arcpd.directory,
                              capture_output=True, text=True, timeout=DEADLINE, check=False)
        if done.returncode != 0 or done.stderr:
            raise Failed(f"fish: {done.returncode} {done.stderr}")
        return [text.split("\t")[0] for text in done.stdout.split("\n") if text]

    def close(self):
        pass


class Place:
    """An arcpd, a home whose configuration names it, and the scripts."""

    def __init__(self, source, build):
        programs = os.path.join(build, "bin")
        self.arcpd = Arcpd(programs)
        self.arcpd.write(CONFIG.format())
        self.arcpd.start()
        home = self.arcpd.directory
        self.scripts = os.path.join(home, "scripts")
        for folder in ("zsh", "zsh-sourced"):
            os.makedirs(os.path.join(self.scripts, folder))
        os.makedirs(os.path.join(home, ".config/arcp"))
        with open(os.path.join(home, ".config/arcp/config.yaml"), "w", encoding="utf-8") as file:
            file.write(CLIENT.format(url=self.arcpd.url))
        os.makedirs(os.path.join(home, ".config/arcp/contexts"))
        for name, url in (("work", self.arcpd.url), ("world", self.arcpd.url), ("away", "ws://127.0.0.1:1/arcp")):
            with open(os.path.join(home, f".config/arcp/contexts/{name}.yaml"), "w", encoding="utf-8") as file:
                file.write(f"url: {url}\ntoken: ta\n")
        for name in ("lease file.json", "lease-two.json"):
            with open(os.path.join(home, name), "w", encoding="utf-8") as file:
                file.write("{}")
        self.environment = {"PATH": programs + ":" + os.environ["PATH"], "HOME": home, "TERM": "dumb", "PS1": "> ", "LC_ALL": "C.UTF-8",
                            "COLUMNS": "2000", "INPUTRC": "/dev/null"}
        for shell in ("bash", "zsh", "fish"):
            script = subprocess.run([os.path.join(programs, "arcp"), "completion", shell], capture_output=True, check=True).stdout
            with open(os.path.join(self.scripts, f"arcp.{shell}"), "wb") as file:
                file.write(script)
            shutil.copy(os.path.join(source, f"packaging/completions/arcpd.{shell}"), self.scripts)
        for name in ("zsh/_arcp", "zsh/_arcpd", "zsh-sourced/_arcpd"):
            shutil.copy(os.path.join(self.scripts, name.split("_")[1] + ".zsh"), os.path.join(self.scripts, name))
        self.jobs = [self.arcpd.arcp("ta", "submit", "--detach", "hello") for _ in range(3)]

    def rows(self):
        """(line, what is offered for its last word)"""
        jobs = set(self.jobs)
        return (
            ("arcp sub", {"submit"}),
            ("arcp se", {"sessions"}),
            ("arcp --color al", {"always"}),
            ("arcp help sess", {"sessions"}),
            ("arcp jobs --sta", {"--status"}),
            ("arcp --context away jobs --sta", {"--status"}),
            ("arcp jobs --status ca", {"cancelled"}),
            ("arcp jobs --output ", {"table", "json", "yaml", "name"}),
            ("arcp jobs -o y", {"yaml"}),
            ("arcp logs --level w", {"warn"}),
            ("arcp lease ex", {"explain"}),
            ("arcp audit gr", {"grep"}),
            ("arcp sessions e", {"end"}),
            ("arcp completion z", {"zsh"}),
            ("arcp jobs --stat --no-such-opt", set()),
            ("arcp submit --input-file lease-", {"lease-two.json"}),
            ("arcp run --write lease-", {"lease-two.json"}),
            # What the runtime has.
            ("arcp submit he", {"hello", "help-desk"}),
            ("arcp jobs --agent he", {"hello", "help-desk"}),
            ("arcp watch job_", jobs),
            ("arcp show job_", jobs),
            ("arcp cancel job_", jobs),
            ("arcp wait job_", jobs),
            ("arcp jobs --parent job_", jobs),
            ("arcp --context w", {"work", "world"}),
            ("arcp context use w", {"work", "world"}),
            ("arcp --context work submit o", {"other"}),
            # A runtime that cannot be reached has nothing.
            ("arcp --context away submit he", set()),
            ("arcpd --enforce-", {"--enforce-min"}),
            ("arcpd --enforce-min a", {"advisory"}),
            ("arcpd --config lease-", {"lease-two.json"}),
        )


def check(place, kind):
    shell = kind(place)
    failed = 0
    try:
        for line, expected in place.rows():
            found = set(shell.complete(line))
            if found != expected:
                failed += 1
                print(f"FAIL {kind.__name__}: {line!r}: {sorted(found)}, not {sorted(expected)}")
    finally:
        shell.close()
    return failed


def main():
    source, build = (os.path.abspath(word) for word in sys.argv[1:])
    place = Place(source, build)
    failed = 0
    missing = [name for name in ("zsh", "fish") if shutil.which(name) is None]
    try:
        for kind, program in ((Bash, "bash"), (Zsh, "zsh"), (SourcedZsh, "zsh"), (Fish, "fish")):
            if program not in missing:
                found = check(place, kind)
                failed += found
                if not found:
                    print(f"ok   {kind.__name__}: {len(place.rows())} lines", flush=True)
    finally:
        place.arcpd.close()
    for name in missing:
        print(f"not run: {name} is missing (tools/install-deps.sh --dev)")
    return 1 if failed or (missing and os.environ.get("CI")) else 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
