"""Our runtimes and those of other SDKs under one load, in one run; see tools/bench-peers."""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import plot
import questions
import report
from figures import FIGURES, Samples, seconds_for_each
from load import Load, LoadError
from machine import facts
from runtimes import Running, bare_push, ours, raise_file_limit
from toolchains import all_peers

ROOT = Path(__file__).resolve().parents[3]
OVERHEAD_SEC = 7.5  # of each runtime in each round: its start, its idle sessions, warming up, draining
MEASUREMENTS = 5
LEASE_MS = 60


class Run:
    """What was measured, as it grows; `samples` by runtime and figure."""

    def __init__(self):
        self.samples = {}
        self.leases = {}
        self.wrong = {}  # names of questions that were answered wrongly, by who answered
        self.job_events = {}  # how many events a job of a runtime says, by runtime and sessions
        self.rounds = 0
        self.notes = []

    def of(self, runtime, figure):
        return self.samples.setdefault(runtime.key, {}).setdefault(figure, Samples())

    def lacks(self, runtime):
        """Whether a measurement failed, or jobs or connections did."""
        return any(one.failures or one.failed_jobs or one.reconnects for one in self.samples.get(runtime.key, {}).values())

    def attempt(self, runtime, keys, measure):
        """Takes one sample of each of `keys`, or notes for them why there is none."""
        try:
            values, about = measure()
        except LoadError as why:
            for key in keys:
                self.of(runtime, key).failures.append(str(why))
            return
        for key, value in zip(keys, values):
            samples = self.of(runtime, key)
            samples.values.append(value)
            if about is not None:
                samples.failed_jobs += about["failed"]
                samples.reconnects += about["reconnects"]
                samples.client_percent.append(about["client_core_percent"])


def measure_events(run, runtime, load, sessions):
    def measure():
        if runtime.only_pushes:
            told = load.pushed(sessions)
        else:
            asked = (runtime.key, sessions)
            if asked not in run.job_events:
                run.job_events[asked] = load.calibrate(sessions)
            told = load.events(sessions, run.job_events[asked])
        return [told["events_per_sec"]], told

    run.attempt(runtime, [f"events_{sessions}"], measure)


def measure_jobs(run, runtime, load, in_flight):
    keys = ["jobs_1", "result_p50", "result_p99"] if in_flight == 1 else ["jobs_64"]

    def measure():
        told = load.jobs(in_flight)
        return [told["jobs_per_sec"], told["result_ms"]["p50"], told["result_ms"]["p99"]], told

    run.attempt(runtime, keys, measure)


def measure_runtime(run, runtime, arcp, seconds, is_quick):
    try:
        with Running(runtime) as running:
            load = Load(arcp, running, seconds, is_quick)
            if not runtime.only_pushes:
                run.attempt(runtime, ["start_ms"], lambda: ([running.start_ms], None))
                run.attempt(runtime, ["idle_kb"], lambda: ([load.idle_kb()], None))
            for sessions in (1, 10, 100):
                measure_events(run, runtime, load, sessions)
            for in_flight in () if runtime.only_pushes else (1, 64):
                measure_jobs(run, runtime, load, in_flight)
    except LoadError as why:  # not even started
        for figure in FIGURES:
            run.of(runtime, figure.key).failures.append(str(why))


def measure_leases(run, programs, file, milliseconds):
    right = questions.right_answers()
    for key, command in programs:
        try:
            answers = questions.ask(command, file, milliseconds)
        except LoadError as why:
            run.notes.append(f"lease questions, {key}: {why}")
            continue
        for name, (ns, yes) in answers.items():
            run.leases.setdefault(key, {}).setdefault(name, Samples()).values.append(ns)
            if yes != right.get(name):
                run.wrong.setdefault(key, set()).add(name)


def rounds(run, runtimes, programs, options, say):
    """A B C, A B C, ...: a machine that changes changes for all."""
    began = time.monotonic()
    budget = options.minutes * 60
    seconds = seconds_for_each(budget, options.rounds, len(runtimes), MEASUREMENTS, OVERHEAD_SEC)
    if options.quick:
        seconds = 0.5
    longest = 0.0
    with tempfile.TemporaryDirectory(prefix="arcp-bench-peers-") as place:
        file = Path(place) / "questions.json"
        questions.write(file)
        for number in range(1, options.rounds + 1):
            at = time.monotonic()
            if number > 1 and at - began + longest > budget:
                run.notes.append(f"the time was over after {run.rounds} of {options.rounds} rounds")
                break
            for runtime in runtimes:
                say(f"round {number}: {runtime.title}")
                measure_runtime(run, runtime, f"{options.build}/bin/arcp", seconds, options.quick)
            say(f"round {number}: leases")
            measure_leases(run, programs, file, LEASE_MS)
            run.rounds = number
            longest = max(longest, time.monotonic() - at)
    return seconds


def arguments():
    parser = argparse.ArgumentParser(prog="tools/bench-peers", description=__doc__)
    parser.add_argument("build", type=lambda text: Path(text).resolve(), help="a release build")
    parser.add_argument("--minutes", type=float, default=11, help="what the rounds may take (11)")
    parser.add_argument("--rounds", type=int, default=5, help="at most so many (5)")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs",
                        help="where performance.md and performance.svg go (docs/)")
    parser.add_argument("--go-sdk", type=Path, help="a checkout of the Go SDK, in place of the module proxy")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="only runtimes with TEXT in their name; may be repeated")
    parser.add_argument("--ours", action="store_true", help="only ours: no registry is asked")
    parser.add_argument("--quick", action="store_true", help="one brief round, to see that it works")
    options = parser.parse_args()
    if options.quick:
        options.rounds = 1
    if options.rounds < 1 or options.minutes <= 0:
        parser.error("--rounds and --minutes must be more than 0")
    return options


def main():
    options = arguments()
    say = lambda text: print(f"bench-peers: {text}", file=sys.stderr, flush=True)  # noqa: E731
    raise_file_limit()
    page = options.docs / "performance.md"
    text = (page if page.exists() else ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    report.check_markers(text)
    peers, missing = [], []
    if not options.ours:
        say("getting the other runtimes")
        peers, missing = all_peers(options.build / "peers", options.go_sdk)
    for title, why in missing:
        say(f"not run: {title}: {why}")
    runtimes = [*ours(options.build), *(one for peer in peers for one in peer.runtimes),
                bare_push(options.build)]
    runtimes = [one for one in runtimes
                if not options.only or any(word in one.key + one.title for word in options.only)]
    programs = [("ours", (f"{options.build}/bench/arcp-bench-lease",)),
                *((peer.key, peer.lease_command) for peer in peers)]
    about = facts(ROOT, options.build)
    run = Run()
    seconds = rounds(run, runtimes, programs, options, say)
    told = report.Told(run, runtimes, peers, missing, about, seconds)
    options.docs.mkdir(parents=True, exist_ok=True)
    raw = options.docs / "bench-peers.json" if options.quick else options.build / "bench-peers.json"
    raw.write_text(json.dumps(report.raw(told), indent=1), encoding="utf-8")
    page.write_text(report.put_between_markers(text, report.section(told)), encoding="utf-8")
    (options.docs / "performance.svg").write_text(plot.draw(runtimes, run.samples), encoding="utf-8")
    say(f"written: {page}, {options.docs / 'performance.svg'}, {raw}")
    lacking = sorted(one.title for one in runtimes if one.is_ours and run.lacks(one))
    for title in lacking:
        say(f"{title}: not every measurement gave a figure: see the remarks of the run")
    return 1 if lacking or run.wrong.get("ours") else 0


if __name__ == "__main__":
    sys.exit(main())
