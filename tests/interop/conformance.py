"""Runs `arcp conformance` against each runtime of tests/interop/run, and formats the results for the page."""
import json
import os

from page_text import frame_lines, masked
from programs import output_of
from sdks import OTHER_TOKEN, TOKEN

PLAY_SEC = 300
STEP = "5s"  # no step of a case waits longer
OTHER_FORM = "other form"
CELLS = {"pass": "ok", "skip": "n/a", "fail": "**fails**", "differs": OTHER_FORM}


def ask(arcp, url):
    """The rows of the suite for a runtime: result, section, case, why, frame, left_open. A single
    failed row if the suite cannot run."""
    text, _ = output_of([arcp, "conformance", url, "--json", "--timeout", STEP, "--agent", "greet",
                         "--long-agent", "waits"], PLAY_SEC,
                        env={**os.environ, "ARCP_TOKEN": TOKEN, "ARCP_OTHER_TOKEN": OTHER_TOKEN})
    return rows_of(text)


def rows_of(text):
    rows, is_whole = [], False
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        is_whole = is_whole or "runtime" in row
        if "result" in row:
            rows.append(row)
    if not is_whole:
        last = (text.strip().splitlines() or ["no word"])[-1]
        rows.append({"result": "fail", "section": "", "case": "every case is asked", "why": last})
    return rows


def compare(rows):
    """Prints the cases that arcpd does not pass; returns their number. Skipped cases count, because
    arcpd must be able to run every case."""
    bad = [row for row in rows if row["result"] != "pass"]
    for row in bad:
        print(f"WORSE: arcpd, conformance, {row['section']} {row['case']}: {row['why']}\n  {row.get('frame')}")
    print(f"conformance: arcpd keeps {len(rows) - len(bad)} of {len(rows)} cases")
    return len(bad)


def said(name, rows):
    """Prints the line of a peer. Its failures do not fail the run."""
    counts = {word: sum(cell(row) == word for row in rows) for word in CELLS.values()}
    print(f"conformance: {name}'s runtime keeps {counts[CELLS['pass']]} of {len(rows)} cases, "
          f"{counts[OTHER_FORM]} have another form, {counts[CELLS['fail']]} fail, {counts[CELLS['skip']]} not applicable")


def cell(row):
    return "" if row is None else CELLS[row["result"]]


def gap_lines(name, row, notes):
    """One failure or variant: the side at fault, the observation, and the frame that shows it."""
    side, why = notes.get((name, "conformance", row["case"]), ("", "", ""))[1:]
    if row["result"] == "differs":
        side = side or f"no failure: the draft leaves open {row['left_open']}"
    side = side or ("ours until shown otherwise" if name == "C" else "the SDK's")
    lines = [f"* **{row['case']}** (§{row['section']}), {side}." + (f" {why}" if why else ""),
             f"  Seen: {masked(row['why'])}."]
    return lines + frame_lines(row["frame"] if row.get("frame") else None)


def section(found, notes):
    """The part of the page. `found`: {SDK: rows}, ours as "C"; `notes`: notes written by hand."""
    lines = ["## Conformance", "",
             "`arcp conformance` asks each runtime what the draft asks of it, case by case. *ok*: the runtime keeps it;",
             "*n/a*: it has not negotiated what the case needs; *other form* (the verdict `differs`): the draft asks for it and",
             "leaves its form open, and the runtime does not know the one that `arcpd` has, which is no failure; **fails**: it does",
             "not keep what the draft says. A resume is asked for in two forms; either will do.",
             "", "| § | case | " + " | ".join("`arcpd`" if name == "C" else name for name in found) + " |",
             "|---" * (len(found) + 2) + "|"]
    cases = {}
    for rows in found.values():
        for row in rows:
            cases.setdefault(row["case"], row)
    by_name = {name: {row["case"]: row for row in rows} for name, rows in found.items()}
    for case, first in cases.items():
        # A frame that violates another section is a failure of that section, not of the case.
        number = next((rows[case]["section"] for rows in by_name.values()
                       if case in rows and rows[case]["result"] != "fail"), first["section"])
        cells = [cell(rows.get(case)) for rows in by_name.values()]
        lines.append(f"| {number} | {case} | " + " | ".join(cells) + " |")
    for name, rows in found.items():
        bad = [row for row in rows if row["result"] in ("fail", "differs")]
        skipped = [row for row in rows if row["result"] == "skip"]
        if not bad and not skipped:
            continue
        lines += ["", f"### Conformance: {'`arcpd`' if name == 'C' else name}", ""]
        lines += [line for row in bad for line in gap_lines(name, row, notes)]
        lines += [f"* **{row['case']}** (§{row['section']}), not applicable: {row['why']}." for row in skipped]
    return lines + [""]
