"""One runtime under the load of `arcp bench`: what is asked of it, and what is read from the answer."""

import json
import os
import subprocess
import time
from pathlib import Path

WARMUP_MS = 300
IDLE_SESSIONS = 500
JOB_SEC = 0.25  # what a job of events should take at the runtime's own rate
JOB_EVENTS = (100, 200000)  # at least, at most
PUSHED_EVENTS = 600000
QUICK_JOBS, QUICK_PUSHED_EVENTS = 100, 6000


class LoadError(Exception):
    """A measurement that gave nothing; the text says why."""


def parse_report(text):
    """The report of `arcp bench --json`; LoadError when it is none."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    try:
        report = json.loads(lines[-1])
        for name in ("jobs_per_sec", "events_per_sec", "failed", "reconnects", "idle_lost",
                     "client_core_percent"):
            float(report[name])
        report["result_ms"]["p50"]
    except (IndexError, KeyError, TypeError, ValueError) as why:
        raise LoadError(f"arcp bench printed no report ({why!r})") from why
    return report


def job_events(rate, sessions):
    """How many events a job should say so that starting it does not show; `rate`: of all sessions."""
    least, most = JOB_EVENTS
    return max(least, min(most, int(rate * JOB_SEC / sessions)))


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no word"


class Load:
    """`seconds`: how long a measurement lasts. A quick one ends after QUICK_JOBS jobs instead, to see that it works."""

    def __init__(self, arcp, running, seconds, is_quick=False):
        self.arcp = arcp
        self.running = running
        self.seconds = seconds
        self.is_quick = is_quick

    def _command(self, *options):
        return [self.arcp, "bench", "--json", "--quiet", *options]

    def _environment(self):
        return {**os.environ, "ARCP_URL": self.running.url, "ARCP_TOKEN": "bench"}

    def _run(self, *options):
        try:
            done = subprocess.run(
                self._command(*options),
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=self.seconds + 60,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise LoadError("arcp bench did not end") from late
        if not done.stdout.strip():
            raise LoadError(last_line(done.stderr))
        return parse_report(done.stdout)

    def _measured(self, *options, seconds=None):
        duration = f"{int((seconds or self.seconds) * 1000)}ms"
        until = ["--jobs", str(QUICK_JOBS), "--warmup", "0"] if self.is_quick else ["--duration", duration, "--warmup", f"{WARMUP_MS}ms"]
        report = self._run(*until, *options)
        if report["events"] == 0:
            raise LoadError(f"nothing ended in {duration}")
        return report

    def events(self, sessions, each, seconds=None):
        """One job in each session at any time, `each` events in a job."""
        count = str(sessions)
        return self._measured("--sessions", count, "--in-flight", count, "--input",
                              json.dumps({"events": each}), seconds=seconds)

    def calibrate(self, sessions):
        """How many events a job should say: found in two steps, for short jobs hide the rate."""
        each = JOB_EVENTS[0]
        try:
            for _ in range(0 if self.is_quick else 2):
                each = job_events(self.events(sessions, each, 0.3)["events_per_sec"], sessions)
        except LoadError:
            pass  # too slow to be seen in so short a time: then jobs stay short
        return each

    def pushed(self, sessions):
        """The same of what only pushes: one job for each session, and all of it counts."""
        events = QUICK_PUSHED_EVENTS if self.is_quick else PUSHED_EVENTS
        each = json.dumps({"events": events // sessions}, separators=(",", ":"))
        count = str(sessions)
        return self._run("--sessions", count, "--in-flight", count, "--jobs", count, "--warmup", "0",
                         "--input", each)

    def jobs(self, in_flight):
        """One at a time is about waiting: that of the load generator for its core is left out."""
        how = ["--busy-poll"] if in_flight == 1 else []
        return self._measured("--agent", "quick", "--in-flight", str(in_flight), "--input", '{"events":0}',
                              *how)

    def idle_kb(self):
        """Resident memory that each of many idle sessions adds."""
        self._run("--sessions", "0", "--idle", "16", "--duration", "100ms", "--warmup", "0")
        time.sleep(0.3)
        sockets = self.running.open_files()
        before = self.running.resident_kb()
        holding = subprocess.Popen(
            self._command("--sessions", "0", "--idle", str(IDLE_SESSIONS), "--duration", "1500ms",
                          "--warmup", "0"),
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        after = None
        try:
            give_up = time.monotonic() + 30
            while self.running.open_files() < sockets + IDLE_SESSIONS:
                if holding.poll() is not None or time.monotonic() > give_up:
                    break
                time.sleep(0.02)
            else:
                time.sleep(0.7)
                after = self.running.resident_kb()
            out, err = holding.communicate(timeout=60)
        except subprocess.TimeoutExpired as late:
            raise LoadError("arcp bench did not end") from late
        finally:
            if holding.poll() is None:
                holding.kill()
                holding.wait()
        if after is None:
            raise LoadError(f"{IDLE_SESSIONS} sessions were not there: {last_line(err)}")
        if parse_report(out)["idle_lost"]:
            raise LoadError("idle sessions were lost")
        return (after - before) / IDLE_SESSIONS


def resident_kb(pid):
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise LoadError(f"process {pid} has no memory: it has ended")
