#!/usr/bin/env python3
"""Runs the commands that a page of docs/ shows, and compares what they print with the page.

    tests/examples/guide.py [--accept] BIN_DIR PAGE

A block ```LANGUAGE file=NAME is a file that is written; a block ```console has commands, each
after `$ `, with what it prints (both streams, and the exit status when it is not 0). A command
`arcpd ... &` starts a daemon, on a port of its own. Everything happens in a scratch folder, in
which the programs are in build/bin too. Commands of `arcp run` and `arcp doctor`, and those whose output names
the level full, are left out on a host that cannot confine programs fully.
--accept writes what is printed into the page instead.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

MASKS = [
    (r"\b(job|msg|res|sess|cred)_[0-9A-Z]{26}", r"\1_..."),
    (r"\d{4}-\d\d-\d\dT[\d:]{8}(\.\d+)?Z", "TIME"),
    (r"\b[0-9a-f]{32}\b", "TRACE"),
    (r"\b\d+(\.\d+)? (ms|us)\b", "0.1 ms"),
]


def mask(text, page):
    text = text.replace(page.work, "/home/you")
    if page.port:
        text = text.replace(":" + page.port + "/", ":7777/")
    for pattern, instead in MASKS:
        text = re.sub(pattern, instead, text)
    return text


class Page:
    """The page's lines, and a folder and an environment to run its commands in."""

    def __init__(self, binaries, path, work):
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        self.work = work
        os.mkdir(work + "/build")
        os.symlink(binaries, work + "/build/bin")
        self.daemons = []
        self.port = None
        self.commands = 0
        self.wrong = 0
        self.environment = {
            "PATH": binaries + ":" + os.environ["PATH"], "HOME": work,
            "XDG_STATE_HOME": work + "/.local/state", "LANG": "C.UTF-8",
        }
        self.confines = not any("arcp run" in line or "level full" in line
                                for line in self.lines) or subprocess.run(
            [binaries + "/arcp", "doctor"], env=self.environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, check=False).returncode == 0

    def start_daemon(self, command):
        self.stop()  # as the reader does: there is one port
        words = shlex.split(command) + ["--listen", "ws://127.0.0.1:0/arcp"]
        with open(self.work + "/arcpd.log", "ab") as log:
            daemon = subprocess.Popen(words, cwd=self.work, env=self.environment, text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        self.daemons.append(daemon)
        ready = daemon.stdout.readline()
        if not ready.startswith("arcpd: ready "):
            with open(self.work + "/arcpd.log", encoding="utf-8") as log:
                return ready + log.read()
        self.environment["ARCP_URL"] = ready.split()[2]
        self.port = re.search(r":(\d+)/", ready)[1]
        return ready

    def run(self, command):
        self.commands += 1
        if re.match(r"(build/bin/)?arcpd .*&$", command):
            return self.start_daemon(command[:-1])
        # A file and not a pipe: a command may leave something running.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            status = subprocess.run(["sh", "-c", command], cwd=self.work, env=self.environment,
                                    stdin=subprocess.DEVNULL, stdout=output,
                                    stderr=subprocess.STDOUT, timeout=60, check=False).returncode
            output.seek(0)
            text = output.read()
        if text and not text.endswith("\n"):
            text += "\n"
        return text + (f"(exit status {status})\n" if status != 0 else "")

    def write_file(self, name, lines):
        path = os.path.join(self.work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        if lines[0].startswith("#!"):
            os.chmod(path, 0o755)

    def console(self, block):
        """The block as it should be; says where it is not."""
        result = []
        at = 0
        while at < len(block):
            if not block[at].startswith("$ "):
                sys.exit(f"a console block begins with no command: {block[at]}")
            command = block[at][2:]
            at += 1
            shown = []
            while at < len(block) and not block[at].startswith("$ "):
                shown.append(block[at])
                at += 1
            gap = [""] if shown and shown[-1] == "" else []
            is_confined = re.search(r"arcp (run|doctor)", command) or any(
                "level full" in line for line in shown)
            if not self.confines and is_confined:
                print(f"left out on this host: $ {command}")
                result += ["$ " + command] + shown
                continue
            got = mask(self.run(command), self).split("\n")[:-1]
            if got != shown[:len(shown) - len(gap)]:
                self.wrong += 1
                print(f"$ {command}\nprints:")
                print("\n".join("  " + line for line in got))
            result += ["$ " + command] + got + gap
        return result

    def walk(self):
        """Goes through the page from top to bottom; its lines as they should be."""
        result = []
        at = 0
        while at < len(self.lines):
            result.append(self.lines[at])
            fence = re.fullmatch(r"```(\w+)(?: file=(\S+))?", self.lines[at])
            at += 1
            if not fence:
                continue
            end = self.lines.index("```", at)
            block = self.lines[at:end]
            if fence[1] == "console":
                block = self.console(block)
            elif fence[2]:
                self.write_file(fence[2], block)
            result += block + ["```"]
            at = end + 1
        return result

    def stop(self):
        while self.daemons:
            daemon = self.daemons.pop()
            daemon.terminate()
            if daemon.wait(60) != 0:
                self.wrong += 1
                print(f"arcpd ended with status {daemon.returncode}")


def main():
    words = sys.argv[1:]
    accept = words[0] == "--accept"
    binaries, path = words[1:] if accept else words
    with tempfile.TemporaryDirectory() as work:
        page = Page(os.path.abspath(binaries), path, work)
        try:
            lines = page.walk()
        finally:
            page.stop()
    if accept:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        return 0
    print(f"{path}: {page.commands} commands, {page.wrong} print something else")
    return 0 if page.wrong == 0 and page.commands > 0 else 1


sys.exit(main())
