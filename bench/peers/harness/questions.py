"""The questions about leases that every program is asked: one file for all of them."""

import json
import subprocess

from load import LoadError, last_line

LEASES = (20, 100, 1000, 10000)
SUBSETS = (20, 100, 1000)
TARGETS = 8
SHAPES = ("/srv/t{}/**", "/srv/t{}/*.csv", "/srv/t{}/in/**", "/srv/t{}/*/out/**", "/srv/t{}/readme")


def pattern(number):
    """Paths of tenants, of the five shapes that leases have."""
    return SHAPES[number % len(SHAPES)].format(number)


def patterns(count):
    return [pattern(number) for number in range(count)]


def targets(count):
    """As many that one pattern covers, somewhere in the list, as ones that none does."""
    asked = []
    for at in range(TARGETS):
        number = at * 7919 % count // len(SHAPES) * len(SHAPES)
        asked.append(f"/srv/t{number}/2026/week-19/report.csv")
        asked.append(f"/srv/t{number}x/2026/week-19/report.csv")
    return asked


def child(count):
    """Narrower where a pattern can be narrowed, else the same."""
    return [one.replace("/**", "/2026/**", 1) if number % len(SHAPES) == 0 else one
            for number, one in enumerate(patterns(count))]


def all_questions():
    return {
        "leases": [{"name": f"check/{count}", "lease": {"fs.read": patterns(count)},
                    "targets": targets(count)} for count in LEASES],
        "subsets": [{"name": f"subset/{count}", "parent": {"fs.read": patterns(count)},
                     "child": {"fs.read": child(count)}} for count in SUBSETS],
    }


def names():
    return [f"check/{count}" for count in LEASES] + [f"subset/{count}" for count in SUBSETS]


def right_answers():
    """How many of the questions, each asked once, have the answer yes."""
    return {name: TARGETS if name.startswith("check/") else 1 for name in names()}


def title(name):
    kind, count = name.split("/")
    return f"one check, {count} patterns" if kind == "check" else f"{count} patterns within {count}"


def write(path):
    path.write_text(json.dumps(all_questions()), encoding="utf-8")


def parse_answers(text):
    """{name: (ns, yes)} of the lines that a program printed."""
    answers = {}
    for line in text.splitlines():
        try:
            answer = json.loads(line)
            answers[str(answer["name"])] = (float(answer["ns"]), int(answer["yes"]))
        except (KeyError, TypeError, ValueError) as why:
            raise LoadError(f"no answer: {line[:80]!r}") from why
    return answers


def ask(command, path, milliseconds):
    try:
        done = subprocess.run([*command, str(path), str(milliseconds)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as why:
        raise LoadError(f"{command[0]}: {why}") from why
    if done.returncode != 0:
        raise LoadError(last_line(done.stderr))
    return parse_answers(done.stdout)
