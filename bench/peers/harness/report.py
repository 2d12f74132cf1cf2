"""What a run tells docs/performance.md, and where in it."""

from dataclasses import dataclass

import questions
from figures import FIGURES, median, ratio, ratio_text, text_of

BEGIN = "<!-- bench-peers: written by make bench-peers; do not edit -->"
END = "<!-- bench-peers: end -->"
LOADED = ("events_1", "events_10", "events_100", "jobs_1", "jobs_64")
SHORT = {
    "events_1": "events/s, 1 session", "events_10": "10 sessions", "events_100": "100 sessions",
    "jobs_1": "jobs/s, 1 in flight", "jobs_64": "64 in flight",
    "result_p50": "result p50, ms", "result_p99": "p99, ms",
    "idle_kb": "idle session, KB", "start_ms": "start, ms",
}


@dataclass
class Told:
    run: object
    runtimes: list
    peers: list
    missing: list
    about: dict
    seconds: float

    def values(self, runtime, key):
        samples = self.run.samples.get(runtime.key, {}).get(key)
        return samples.values if samples else []

    def median(self, runtime, key):
        return median(self.values(runtime, key))

    def served(self):
        return [one for one in self.runtimes if not one.only_pushes]

    def ours(self):
        return [one for one in self.served() if one.is_ours]

    def theirs(self):
        return [one for one in self.served() if not one.is_ours]


def check_markers(text):
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"bench-peers: performance.md must have one line {BEGIN} and, below it, one {END}")


def put_between_markers(text, section):
    check_markers(text)
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{section.strip()}\n\n{END}{rest.split(END)[1]}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def grid(told, runtimes, keys, cell):
    rows = [[one.title, *(cell(one, key) for key in keys)] for one in runtimes]
    return table(["", *(SHORT[key] for key in keys)], rows)


# ---- the parts ----


def facts(told):
    about = told.about
    versions = [f"ours: {about['ours']}"] + [f"{peer.title}: {peer.version}" for peer in told.peers]
    return "\n".join([
        f"{about['date']}, commit {about['commit']}. {about['processor']}, {about['cores']} cores, "
        f"{about['memory']}; {about['system']}. Load before the run: {about['load']}. {told.run.rounds} "
        f"round{'s' if told.run.rounds != 1 else ''}, each measurement {told.seconds:.1f} s after "
        "0.3 s of warming up.", "", *(f"* {version}" for version in versions)])


def medians(told):
    keys = [figure.key for figure in FIGURES]
    return grid(told, told.runtimes, keys, lambda one, key: text_of(told.median(one, key)))


def spread(told):
    keys = [figure.key for figure in FIGURES]

    def cell(one, key):
        values = told.values(one, key)
        return f"{text_of(min(values))} – {text_of(max(values))}" if values else "–"

    return grid(told, told.runtimes, keys, cell)


def ratios(told):
    rows = []
    for theirs in told.theirs():
        for ours in told.ours():
            cells = [ratio_text(ratio(figure, told.median(ours, figure.key), told.median(theirs, figure.key)))
                     for figure in FIGURES]
            rows.append([f"{ours.title} : {theirs.title}", *cells])
    return table(["", *(SHORT[figure.key] for figure in FIGURES)], rows)


def sandboxes(told):
    rows = []
    for one in told.ours():
        for bare in (other for other in told.ours() if other.key == one.beside):
            cells = [ratio_text(ratio(figure, told.median(one, figure.key), told.median(bare, figure.key)))
                     for figure in FIGURES]
            rows.append([f"{one.title} : {bare.title}", *cells])
    return table(["", *(SHORT[figure.key] for figure in FIGURES)], rows) if rows else ""


def share_of_push(told):
    push = [one for one in told.runtimes if one.only_pushes]
    rows = []
    for ours in told.ours() if push else []:
        cells = []
        for key in LOADED[:3]:
            mine, bare = told.median(ours, key), told.median(push[0], key)
            cells.append(f"{100 * mine / bare:.0f} %" if mine is not None and bare else "–")
        rows.append([ours.title, *cells])
    return table(["", *(SHORT[key] for key in LOADED[:3])], rows) if rows else ""


def generator(told):
    def cell(one, key):
        samples = told.run.samples.get(one.key, {}).get(key)
        middle = median(samples.client_percent) if samples else None
        return "–" if middle is None else f"{middle:.0f} %"

    return grid(told, told.runtimes, LOADED, cell)


def leases(told):
    measured = told.run.leases
    peers = [peer for peer in told.peers if peer.key in measured]
    if "ours" not in measured:
        return ""
    rows = []
    for name in questions.names():
        ours = median(measured["ours"].get(name).values) if name in measured["ours"] else None
        row = [questions.title(name), text_of(ours) + mark(told, "ours", name)]
        for peer in peers:
            samples = measured[peer.key].get(name)
            theirs = median(samples.values) if samples else None
            better = theirs / ours if theirs is not None and ours else None
            row += [text_of(theirs) + mark(told, peer.key, name), ratio_text(better)]
        rows.append(row)
    head = ["ns", "ours"]
    for peer in peers:
        head += [peer.title, "ratio"]
    return table(head, rows)


def mark(told, key, name):
    return " (wrong answers)" if name in told.run.wrong.get(key, ()) else ""


def remarks(told):
    lines = [f"* not run: {title}: {why}" for title, why in told.missing]
    for one in told.runtimes:
        for key, samples in told.run.samples.get(one.key, {}).items():
            name = SHORT[key] if key not in LOADED else next(f.title for f in FIGURES if f.key == key)
            if samples.failures:
                lines.append(f"* {one.title}, {name}: no figure in {len(samples.failures)} round(s): "
                             f"{samples.failures[0]}")
            if samples.failed_jobs:
                lines.append(f"* {one.title}, {name}: {samples.failed_jobs} job(s) were refused or failed")
            if samples.reconnects:
                lines.append(f"* {one.title}, {name}: {samples.reconnects} connection(s) broke")
    lines += [f"* {note}" for note in told.run.notes]
    return "\n".join(lines)


def section(told):
    parts = [
        facts(told),
        "![medians and their ranges](performance.svg)",
        "### Medians", medians(told),
        "### From the least to the most of all rounds", spread(told),
        "### How many times better ours is (below 1×: worse)",
        ratios(told) if told.theirs() else "No other runtime was there.",
    ]
    if sandboxes(told):
        parts += ["### What sandboxes leave of it (below 1×: worse)", sandboxes(told)]
    if share_of_push(told):
        parts += ["### Events, as a share of the bare push", share_of_push(told)]
    parts += ["### What the load generator took of a core", generator(told)]
    if leases(told):
        parts += ["### Leases: nanoseconds for one question", leases(told)]
    if remarks(told):
        parts += ["### Remarks of the run", remarks(told)]
    return "\n\n".join(parts)


def raw(told):
    """Everything that was measured, for whoever wants to count again."""
    return {
        "about": told.about,
        "rounds": told.run.rounds,
        "seconds": told.seconds,
        "versions": {peer.key: peer.version for peer in told.peers},
        "not_run": dict(told.missing),
        "notes": told.run.notes,
        "figures": {key: {figure: vars(samples) for figure, samples in of.items()}
                    for key, of in told.run.samples.items()},
        "lease_ns": {key: {name: samples.values for name, samples in of.items()}
                     for key, of in told.run.leases.items()},
        "wrong_answers": {key: sorted(names) for key, names in told.run.wrong.items()},
    }
