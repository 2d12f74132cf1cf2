"""Samples, what is said of them, and how two of them compare. Nothing here runs anything."""

from dataclasses import dataclass, field

# Figures of which more is better; of all others less is.
RATES = ("events/s", "jobs/s")


@dataclass(frozen=True)
class Figure:
    """One row of the report: the same question put to every runtime."""

    key: str
    title: str
    unit: str

    @property
    def more_is_better(self):
        return self.unit in RATES


FIGURES = (
    Figure("events_1", "events, 1 session", "events/s"),
    Figure("events_10", "events, 10 sessions", "events/s"),
    Figure("events_100", "events, 100 sessions", "events/s"),
    Figure("jobs_1", "jobs, 1 in flight", "jobs/s"),
    Figure("jobs_64", "jobs, 64 in flight", "jobs/s"),
    Figure("result_p50", "submit to result, 1 in flight, p50", "ms"),
    Figure("result_p99", "submit to result, 1 in flight, p99", "ms"),
    Figure("idle_kb", "memory of an idle session", "KB"),
    Figure("start_ms", "start to ready", "ms"),
)


@dataclass
class Samples:
    """The values of one figure of one runtime, one for each round that gave one."""

    values: list = field(default_factory=list)
    failures: list = field(default_factory=list)  # why a round gave none
    failed_jobs: int = 0  # in rounds that gave one all the same
    reconnects: int = 0  # the client left a session, and resumed it
    client_percent: list = field(default_factory=list)  # of a core that the load generator took

    def median(self):
        return median(self.values)


def median(values):
    """The middle value, or the mean of the two in the middle; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def ratio(figure, ours, theirs):
    """How many times better `ours` is than `theirs`; below 1 it is worse. None without both."""
    if ours is None or theirs is None:
        return None
    better, other = (ours, theirs) if figure.more_is_better else (theirs, ours)
    return better / other if other > 0 else None


def seconds_for_each(budget_sec, rounds, runtimes, measurements, overhead_sec):
    """How long one measurement may take so that all rounds fit into the budget."""
    left = budget_sec - rounds * runtimes * overhead_sec
    return min(2.0, max(0.3, left / (rounds * runtimes * measurements)))


def text_of(value):
    """Three digits that count, and thousands apart: 1 234 000, 12.3, 0.0123."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if value < 0:
        return "-" + text_of(-value)
    if value >= 1000:
        digits = len(str(int(value)))
        return f"{round(value, 3 - digits):,.0f}".replace(",", " ")
    if value >= 100:
        return f"{value:.0f}"
    if value >= 10:
        return f"{value:.1f}"
    if value >= 1:
        return f"{value:.2f}"
    return f"{value:.3g}"


def ratio_text(value):
    return "–" if value is None else f"{text_of(value)}×"
