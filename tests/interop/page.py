"""Results of tests/interop/run: compares them with expected.tsv, and writes docs/interop.md."""
import json
import re

import conformance
from page_text import frame_lines, masked

HEAD = "# sdk\tpair\tscenario\tverdict\tside\twhy (the last two by hand, for what does not work)\n"

# The pairs of client and runtime, and their names in the table.
PAIRS = {
    "self": "its client, its runtime",
    "client": "its client, `arcpd`",
    "plain": "... without its peer profile",
    "runtime": "`libarcp-client`, its runtime",
}

WHAT = {
    "hello": "welcome, features, inventory; a wrong token is UNAUTHENTICATED",
    "submit": "accepted with the agent and the lease",
    "events": "seven kinds, an artifact and a vendor's kind, in order, with their bodies",
    "result": "an inline result, unchanged",
    "error": "an agent fails with a code; the session continues",
    "refusal": "an unknown agent is AGENT_NOT_AVAILABLE; the session continues",
    "cancel": "a running job is cancelled; the session continues",
    "deadline": "`max_runtime_sec` ends a job as timed out",
    "list": "three jobs, page by page",
    "subscribe": "another session follows a job live to its end, and continues",
    "history": "the same, with the events from before",
    "denied": "a subscription to an unknown job is JOB_NOT_FOUND; the result of a job that runs meanwhile still arrives",
    "resume": "events that a job writes while no client is connected arrive after a resume",
    "replay": "events that were sent arrive again at a client that requests them",
    "ack": "events are acknowledged; the job continues",
    "heartbeat": "two and a half silent intervals",
    "idempotency": "the same key: the same job with its result; other input: DUPLICATE_KEY",
    "budget": "the budget in the response, the remaining amount in metrics, BUDGET_EXHAUSTED at the end",
    "expiry": "`expires_at` ends a job with LEASE_EXPIRED",
    "delegation": "a child job, while another submit waits for its response",
    "chunks": "a streamed result of bytes",
    "mixed": "a streamed result with chunks of text and of bytes",
    "versions": "default, another, and an unknown version",
    "credentials": "a credential for the job, in the response",
    "trace": "the trace of a submit on its job's frames",
    "close": "a job outlives the closing of its session",
    "pipelining": "20 submits at once, each fifth refused: each gets its own response and result, 200 times",
    "disturbance": "12 submits over connections that are cut at random; after each cut a resume, and the same keys "
                   "again: a job for each key, every event once and in order; 10 times",
}

# ---- expected.tsv ----


def read_expected(path):
    """{(sdk, pair, scenario): (verdict, side, why)}"""
    try:
        with open(path, encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    except FileNotFoundError:
        return {}
    return {tuple(row[:3]): tuple((row[3:] + ["", ""])[:3]) for row in rows}


def found(results):
    return {(sdk, pair, scenario): row for sdk, pairs in results.items()
            for pair, rows in pairs.items() for scenario, row in rows.items()}


def write_expected(path, results):
    """Writes the results. Keeps notes written by hand; for conformance there are only such notes."""
    before = read_expected(path)
    rows = {key: row for key, row in before.items()
            if key[0] not in results or key[1] == "conformance"}
    for key, row in found(results).items():
        side, why = before.get(key, ("", "", ""))[1:]
        rows[key] = ("works", "", "") if row["works"] else ("fails", side, why)
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD)
        for key, row in rows.items():
            file.write("\t".join(key + row).rstrip("\t") + "\n")


def compare(path, results, is_check=False):
    """Prints the differences; returns how many scenarios do not work any more. A check does not play the clients of SDKs with
    their own runtimes."""
    expected, now = read_expected(path), found(results)
    worse = 0
    for key, row in now.items():
        verdict = expected.get(key, ("unknown",))[0]
        if verdict != "works" and row["works"]:
            print(f"better: {' '.join(key)} works ({verdict} in expected.tsv)")
        elif verdict != "fails" and not row["works"]:
            worse += 1
            print(f"WORSE: {' '.join(key)}: {row['why']}\n  {json.dumps(row.get('frame'))}")
    for key, row in expected.items():
        is_left_out = is_check and key[0] != "C" and key[1] in ("self", "self-stdio")
        if row[0] == "works" and key[0] in results and key not in now and not is_left_out:
            worse += 1
            print(f"WORSE: {' '.join(key)} was not played")
    good = sum(row["works"] for row in now.values())
    print(f"interop: {good} of {len(now)} work, {worse} worse than expected")
    return worse


# ---- docs/interop.md ----


def side_of(key, results, expected):
    """The side at fault, as far as the run shows or a note says."""
    sdk, pair, scenario = key
    own = results[sdk].get("self-stdio" if pair.endswith("stdio") else "self", {}).get(scenario)
    side, why = expected.get(key, ("", "", ""))[1:]
    if own is not None and not own["works"] and pair.split("-")[0] != "plain":
        side = side or "the SDK's"
        why = why or "Its own client and runtime fail at it together."
    return side or "ours until shown otherwise", why


def gap(keys, row, results, expected):
    """A failure, for all scenarios with the same text; `row` is that of the first one."""
    side, why = side_of(keys[0], results, expected)
    lines = [f"* **{', '.join(key[2] for key in keys)}**, {side}." + (f" {why}" if why else ""),
             f"  Seen: {masked(row['why'])}."]
    return lines + frame_lines(row.get("frame"))


def cell(row):
    return "" if row is None else "works" if row["works"] else "**no**"


def table(sdk, results, scenarios, suffix=""):
    pairs = [pair for pair in PAIRS if pair + suffix in results[sdk]]
    lines = ["| scenario | " + " | ".join(PAIRS[pair] for pair in pairs) + " |",
             "|---" * (len(pairs) + 1) + "|"]
    for scenario in scenarios:
        cells = [cell(results[sdk][pair + suffix].get(scenario)) for pair in pairs]
        lines.append(f"| {scenario} | " + " | ".join(cells) + " |")
    return lines


def gaps(sdk, results, expected, suffix):
    lines = []
    for pair, title in PAIRS.items():
        bad = {}
        for scenario, row in results[sdk].get(pair + suffix, {}).items():
            if not row["works"]:
                key = (sdk, pair + suffix, scenario)
                reason = expected.get(key, ("", "", ""))[1:]
                bad.setdefault(reason if reason[1] else scenario, []).append((key, row))
        if bad:
            over = " (stdio)" if suffix else ""
            lines += ["", f"### {sdk}: {title.lstrip('. ')}{over}", ""]
        for same in bad.values():
            lines += gap([key for key, _ in same], same[0][1], results, expected)
    return lines


def remarks(sdk, results):
    """Observations in scenarios that work."""
    said = {(pair, row["remark"]) for pair, rows in results[sdk].items()
            for row in rows.values() if "remark" in row}
    return [f"Seen besides ({PAIRS[pair.split('-')[0]].lstrip('. ')}): {remark}." for pair, remark in sorted(said)]


INTRO = """# Interoperability

Interoperability of the published SDKs of ARCP v1.1 with this implementation, in both directions. `make interop` runs
every scenario and writes this page; [tests/interop](../tests/interop) has the programs, with lock files for the packages
that they install. Each SDK's client is also run with its own runtime: a scenario that fails there too is a gap of the SDK,
not of the combination. Frames are shown as received, without ids, times and secrets.

SDKs that are not in a registry are built from a checkout: `make interop INTEROP='--ts-sdk DIR --java-sdk DIR --go-sdk DIR'`;
the page names the commit. The TypeScript SDK needs `npm` (Node.js 22 and pnpm 10 are installed from the npm registry by the
lock file here), the Java SDK `mvn` and a JDK 25, which is searched for in `JAVA_HOME` and `/usr/lib/jvm`. Both are built in a
copy below `build-test/interop`; nothing is written into a checkout. `--check` skips scenarios that are known to fail and SDKs'
clients with their own runtimes, and runs pipelining and disturbance only a few times.

`arcpd` uses the SDK's peer profile ([protocol.md](protocol.md#peer-profiles)); the column beside it shows the results
without the profile.
"""

# Drawbacks of the SDK's profile.
PRICES = {
    "Python": "The price of the profile `python`: a submit that is refused while another request of its session waits is "
              "accepted on the wire, as a job that does not exist and that fails with the code of the refusal (at a refusal, "
              "the client would fail all waiting requests): `done` of the handle fails, and not `submit`. A refused "
              "subscription or listing then gets no response that the client recognises. The client learns of a child job "
              "from its parent's `delegate` event, and a repeated submit gets the end of its job again. The SDK's client has "
              "no default name: the profile must be configured.",
    "TypeScript": "The price of the profile `ts`: while a session has a running job, a refused subscription or listing ends only "
                  "at the timeout of its caller (at a refusal, the client would fail that job, too); the client learns of a child "
                  "job from its parent's `delegate` event, not from a `job.accepted`; and a repeated submit gets the end of its "
                  "job again. The SDK's client has no default name: the profile must be configured.",
    "Java": "The price of the profile `java`: the client learns of a child job from its parent's `delegate` event, not from "
            "a `job.accepted`; a refused subscription names a job that does not exist; and a repeated submit gets the end "
            "of its job again. The default name of the SDK's client, `arcp-client-java`, selects the profile.",
}


def write(path, results, kept, versions, not_run, scenarios, stdio_scenarios, expected):
    lines = INTRO.split("\n")
    for sdk, version in versions.items():
        lines += [f"## {sdk}", "", f"{version}, over WebSocket:", ""]
        lines += table(sdk, results, scenarios)
        lines += ["", "Over stdio:", ""] + table(sdk, results, stdio_scenarios, "-stdio")
        lines += ["", PRICES[sdk]] if sdk in PRICES else []
        lines += [line for remark in remarks(sdk, results) for line in ("", remark)]
        lines += gaps(sdk, results, expected, "") + gaps(sdk, results, expected, "-stdio")
        lines.append("")
    own = [name for name, row in results.get("C", {}).get("self", {}).items() if not row["works"]]
    lines += ["`libarcp-client` with `arcpd`: " +
              ("every scenario works." if not own else f"**not**: {', '.join(own)}."), ""]
    lines += conformance.section(kept, expected)
    if not_run:
        lines += ["## Not run", "", "| SDK | package | why |", "|---|---|---|"]
        lines += [f"| {name} | `{package}` | {masked(why)} |" for name, package, why in not_run]
    lines += ["", "## The scenarios", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {WHAT[name]} |" for name in scenarios]
    with open(path, "w", encoding="utf-8") as file:
        text = "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"
        file.write(re.sub(r"\n{3,}", "\n\n", text))
