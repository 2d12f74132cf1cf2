"""Processes of tests/interop/run: commands whose output is used, and servers that run until they are ended."""
import os
import re
import signal
import subprocess
import threading


class NotRun(Exception):
    """Names what is missing: the registry, or a toolchain."""


def output_of(command, seconds, **more):
    """Its output (both streams), and whether it succeeded."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, timeout=seconds, check=False, **more)
    except FileNotFoundError:
        raise NotRun(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        return f"no answer in {seconds} s", False
    return done.stdout, done.returncode == 0


def last_line(text):
    return ([line.strip() for line in text.splitlines() if line.strip()] or ["no word"])[-1]


def line_with(text, words):
    """The first line with this text, from the text on and without addresses; else the last line."""
    text = re.sub(r"\x1b\[[\d;]*m", "", text)
    found = [line[line.index(words):] for line in text.splitlines() if words in line]
    said = (found or [last_line(text)])[0].strip().split(" -> ")[0]
    return re.sub(r"https?://[^\s)\"]+", "URL", said)


def commit_of(checkout):
    said, well = output_of(["git", "-C", checkout, "describe", "--tags", "--always", "--dirty"], 60)
    return f"from a checkout ({said.strip() if well else 'of no commit'})"


class Program:
    """A server that prints `ready ... URL` and runs until it is ended."""

    def __init__(self, command, log, **more):
        self.log = open(log, "ab")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, text=True, start_new_session=True, **more)
        self.guard = threading.Timer(20, self.process.kill)
        self.guard.start()
        ready = self.process.stdout.readline().split()
        self.guard.cancel()
        if "ready" not in ready:
            self.end()
            with open(log, encoding="utf-8", errors="replace") as file:
                raise SystemExit(f"{command[0]} does not start: {last_line(file.read())}")
        self.url = ready[-1]

    def end(self):
        self.process.stdin.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()
        self.log.close()
