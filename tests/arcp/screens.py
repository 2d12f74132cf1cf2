#!/usr/bin/env python3
"""What `arcp` shows on terminals of 40, 80 and 200 columns, compared with tests/arcp/screens.

    tests/arcp/screens.py SOURCE BUILD [--accept] [NAME...]

Each file there is a screen for each width: a row per line, a row that the terminal broke with "\\" at its end. Ids are masked with X, digits
of times with 0, and numbers with a unit of time or memory with N. --accept writes the files: read them, as a user would.
"""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../dashboard"))
from arcpd import Arcpd  # noqa: E402

WIDTHS = (40, 80, 200)
DEADLINE = 60

CONFIG = """
store: "memory:"
enforce: {{mode: off}}
jobs: {{cancel_grace_ms: 2000}}
shutdown: {{grace_sec: 0}}
tokens:
  - {{token: ta, principal: alice, role: operator}}
  - {{token: tw, principal: "日本語の名前のとても長い利用者"}}
agents:
  - {{name: texts, version: 1.0.0, command: [sh, "{agents}/texts.sh"]}}
  - {{name: an-agent-with-a-rather-long-name, version: 10.20.30, command: [sh, "{agents}/wait.sh"]}}
  - {{name: wait, command: [sh, "{agents}/wait.sh"]}}
  - {{name: progress, command: [sh, "{agents}/progress.sh"]}}
  - {{name: broken, stderr_in_errors: true, command: [sh, -c, "echo 'the database of the agent is older than its program: run its migration first' >&2; exit 3"]}}
hooks:
  - {{name: pager, on: [end], agent: broken, command: ["false"]}}
schedules:
  - {{name: nightly, cron: "30 2 * * *", agent: an-agent-with-a-rather-long-name, principal: alice}}
  - {{name: a-schedule-with-a-long-name, every_sec: 604800, agent: wait, principal: "日本語の名前のとても長い利用者"}}
"""

# Of `arcp`: servers of tools.
TOOLS = """
tools:
  servers:
    - {{name: web, command: ["{python}", -B, "{agents}/tools_server.py"], lease: {{}}, prices: {{"search": "USD:0.02"}}}}
    - {{name: dead, command: ["false"], lease: {{}}}}
"""

LEASE = '{"fs.read": ["/srv/projects/a-rather-long-name/**"], "tool.call": ["web.*"]}'
PLAIN = {"NO_COLOR": "1"}


class Failed(Exception):
    """A screen is not as expected."""


def width_of(character):
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Screen:
    """What a terminal shows after some bytes: rows of characters with their colours."""

    def __init__(self, columns, text):
        self.columns = columns
        self.rows = [[]]
        self.broken = set()  # the rows that continue in the next one
        self.row = self.column = 0
        self.color = 0
        for part in re.findall(r"\x1b\[([0-9]*)([A-Za-z])|(.)", text, re.DOTALL):
            number, letter, character = part
            if letter:
                self.control(int(number or 0), letter)
            elif character == "\n":
                self.go_down()
            elif character == "\r":
                self.column = 0
            elif ord(character) < 32 or 127 <= ord(character) < 160:
                raise Failed(f"the terminal gets {character!r}")
            else:
                self.put(character)

    def control(self, number, letter):
        if letter == "m":
            self.color = number
        elif letter == "A":
            self.row -= max(1, number)
        elif letter == "K":
            del self.rows[self.row][self.column:]
        elif letter == "H" and number == 0:
            self.row = self.column = 0
        elif letter == "J" and number == 0:
            del self.rows[self.row + 1:]
            del self.rows[self.row][self.column:]
        else:
            raise Failed(f"the terminal gets ESC [ {number} {letter}")

    def go_down(self):
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append([])

    def put(self, character):
        width = width_of(character)
        if self.column + width > self.columns:
            self.broken.add(self.row)
            self.column = 0
            self.go_down()
        row = self.rows[self.row]
        row.extend([(" ", 0)] * (self.column + width - len(row)))
        if width == 0:
            row[self.column - 1] = (row[self.column - 1][0] + character, row[self.column - 1][1])
            return
        row[self.column] = (character, self.color)
        if width == 2:
            row[self.column + 1] = ("", self.color)
        self.column += width

    def text(self):
        lines = []
        for number, row in enumerate(self.rows):
            line, color = "", 0
            for character, own in row:
                line += f"{{{own}}}" if own != color else ""
                line += character
                color = own
            line = line.rstrip(" ") + ("{0}" if color else "")
            lines.append(line + ("\\" if number in self.broken else ""))
        return "\n".join(lines).rstrip("\n") + "\n"


class Program:
    """`arcp` on a pseudo-terminal."""

    def __init__(self, place, columns, words, environment):
        self.columns = columns
        self.data = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
            arcp = os.path.join(place.arcpd.programs, "arcp")
            os.execve(arcp, ["arcp", *words], place.environment | environment)

    def read(self):
        """False at the end."""
        ready, _, _ = select.select([self.fd], [], [], DEADLINE)
        if not ready:
            raise Failed(f"nothing more came after {self.data!r}")
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the program has ended
            data = b""
        self.data += data
        return bool(data)

    def wait_for(self, text):
        end = time.monotonic() + DEADLINE
        while text.encode() not in self.data:
            if not self.read() or time.monotonic() > end:
                raise Failed(f"no {text!r} in {self.data!r}")

    def finish(self):
        while self.read():
            pass
        os.close(self.fd)
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def interrupt(self):
        os.write(self.fd, b"\x03")

    def screen(self):
        return Screen(self.columns, self.data.decode()).text()


def mask(text, url):
    """What differs between runs, in as many columns."""
    def with_unit(match):
        number, between, unit, blanks = match.groups()
        return "N" + between + unit + blanks + (" " * (len(number) - 1) if blanks and not between else "")
    text = text.replace(url, re.sub(r":\d+/", ":PORT/", url))  # before other ports, which stand in columns
    text = re.sub(r"127\.0\.0\.1:\d{5}", "127.0.0.1:PORT ", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "0000-00-00T00:00:00.000Z", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "0000-00-00T00:00:00Z", text)
    text = re.sub(r"\b\d\d-\d\dT\d\d:\d\dZ", "00-00T00:00Z", text)
    text = re.sub(r"\b(?:[0-9a-f]{32})\b", "x" * 32, text)
    text = re.sub(r"(?:(?<=_)[0-9A-HJKMNP-TV-Z]{26}|^[0-9A-HJKMNP-TV-Z]{8}(?= )|^[0-9A-HJKMNP-TV-Z]{12}(?= ))", lambda match: "X" * len(match.group()), text, flags=re.MULTILINE)
    text = re.sub(r"\b(\d+(?:\.\d+)?)( ?)(ms|s|m|h|K|M|G)\b( *)", with_unit, text)
    return re.sub(r"\b\d+ (lines, written|newer jobs)", r"N \1", text)


class Place:
    """An arcpd with jobs, and a home for `arcp`."""

    def __init__(self, source, build):
        self.arcpd = Arcpd(os.path.join(build, "bin"))
        self.arcpd.write(CONFIG.format(agents=os.path.join(source, "tests/arcp/agents")))
        self.arcpd.start()
        self.environment = self.arcpd.environment | {"TERM": "xterm", "LC_ALL": "C.UTF-8", "ARCP_URL": self.arcpd.url, "ARCP_TOKEN": "ta"}
        self.tools = os.path.join(self.arcpd.directory, "tools.yaml")
        with open(self.tools, "w", encoding="utf-8") as file:
            file.write(TOOLS.format(python=sys.executable, agents=os.path.join(source, "tests/arcp/agents")))
        self.job = self.submit("ta", "texts", "--lease", LEASE, "--budget", "USD:5.00")
        self.arcpd.arcp("ta", "wait", self.job)

    def submit(self, token, *words):
        return self.arcpd.arcp(token, "submit", "--detach", "--quiet", *words)

    def wait_for_event(self, token, job, kind):
        """Until the agent has run so far that its job has such an event."""
        end = time.monotonic() + DEADLINE
        while not self.arcpd.arcp(token, "logs", job, "--kind", kind):
            if time.monotonic() > end:
                raise Failed(f"{job} has no {kind}")


# ---- the screens: (name, function that returns a text for a width) ----


def shows(*words, status=0, environment=None):
    """The command, to its end. JOB is a job that ended, TOOLS the configuration file with servers of tools."""
    def play(place, columns):
        values = {"JOB": place.job, "TOOLS": place.tools}
        program = Program(place, columns, [values.get(word, word) for word in words], PLAIN if environment is None else environment)
        program.finish()
        if program.status != status:
            raise Failed(f"exit status {program.status}, not {status}: {program.data!r}")
        return program.screen()
    return play


def progress(place, columns):
    """A bar while the job runs, and how a cancelled job ends."""
    program = Program(place, columns, ["submit", "progress"], PLAIN)
    program.wait_for("25%")
    running = program.screen()
    program.interrupt()
    program.finish()
    return running + "-- Ctrl-C\n" + program.screen()


def running(*words):
    """The command, while two jobs run."""
    def play(place, columns):
        jobs = [("tw", place.submit("tw", "an-agent-with-a-rather-long-name")), ("ta", place.submit("ta", "wait"))]
        for token, job in jobs:
            place.wait_for_event(token, job, "log")
        program = Program(place, columns, words, PLAIN)
        program.finish()
        for token, job in jobs:
            place.arcpd.arcp(token, "cancel", "--now", job)
        # The order of two idle jobs is not determined; how many sessions have closed is not either.
        title, *rows = program.screen().split("\n")
        return "\n".join([title] + sorted(mask(row, place.arcpd.url) for row in rows if re.match("(job_|sess_)?[0-9A-Z]{8} ?", row))) + "\n"
    return play


def cancel(place, columns):
    job = place.submit("ta", "wait")
    place.wait_for_event("ta", job, "log")
    program = Program(place, columns, ["cancel", job, "--reason", "no longer wanted"], PLAIN)
    program.finish()
    waited = Program(place, columns, ["wait", job], PLAIN)
    waited.finish()
    return program.screen() + "-- arcp wait JOB\n" + waited.screen()


def events(place, columns):
    program = Program(place, columns, ["events"], PLAIN)
    seen = place.submit("ta", "texts")
    while seen[-8:].encode() not in program.data:
        ready, _, _ = select.select([program.fd], [], [], 0.2)
        if ready:
            program.read()
        else:  # it ended before `arcp events` has begun
            seen = place.submit("ta", "texts")
    place.arcpd.arcp("ta", "wait", seen)
    last = place.submit("ta", "texts", "--lease", LEASE)
    program.wait_for(last[-8:])
    place.arcpd.arcp("ta", "wait", last)
    begin = program.data.index(last[-8:].encode())
    while not re.search(rb"ended +success", program.data[begin:]):
        program.read()
    program.interrupt()
    program.finish()
    program.data = program.data[begin:].replace(b"^C", b"")
    return program.screen()


def ends_with(job, status):
    return re.compile(rb"%s [^\n]*%s" % (job[-8:].encode(), status.encode()))


def live_top(place, columns):
    """The table while two jobs run, after one of them has ended, and without any."""
    program = Program(place, columns, ["top"], PLAIN)
    program.wait_for("0 jobs by cpu")
    jobs = [("tw", place.submit("tw", "an-agent-with-a-rather-long-name")), ("ta", place.submit("ta", "wait"))]
    shown = ""
    for count in (2, 1, 0):
        # All of them run: the agents have been silent for some time.
        table = re.compile(rb"\x1b\[H\x1b\[J%d jobs? by cpu\r\n[^\n]*\n(?:\S+ +\d+s +\d[^\n\x1b]*\n){%d}" % (count, count))
        while not table.search(program.data):
            program.read()
        whole = table.findall(program.data)[-1].decode()
        title, head, *rows = Screen(columns, whole).text().split("\n")
        shown += "\n".join([title, head] + sorted(mask(row, place.arcpd.url) for row in rows if row)) + "\n"
        if count:
            token, job = jobs.pop()
            place.arcpd.arcp(token, "cancel", "--now", job)
    program.interrupt()
    program.finish()
    return shown


def jobs_follow(place, columns):
    """The newest job, and one that begins and ends: of that the last row, because the others depend on the time."""
    program = Program(place, columns, ["jobs", "--follow", "--limit", "1", "--quiet", "--agent", "texts", "--order", "newest"], PLAIN)
    program.wait_for("success")
    job = place.submit("ta", "texts")
    while not ends_with(job, "success").search(program.data):
        program.read()
    program.interrupt()
    program.finish()
    program.data = program.data.replace(b"^C", b"")
    head, first, *rows = program.screen().split("\n")
    return "\n".join([head, first, [row for row in rows if row][-1]]) + "\n"


def logs_follow(place, columns):
    job = place.submit("ta", "wait")
    program = Program(place, columns, ["logs", job, "--follow"], PLAIN)
    program.wait_for("waiting")
    place.arcpd.arcp("ta", "cancel", "--now", job)
    program.finish()
    return program.screen()


def logs_stderr(place, columns):
    job = place.submit("ta", "broken")
    place.arcpd.arcp("ta", "wait", job, check=False)
    program = Program(place, columns, ["logs", job, "--stderr"], PLAIN)
    program.finish()
    return program.screen()


def hooks(place, columns):
    """The newest notification, after an attempt."""
    job = place.submit("ta", "broken")
    place.arcpd.arcp("ta", "wait", job, check=False)
    end = time.monotonic() + DEADLINE
    while f'"job_id":"{job}"' not in re.sub(r"[^\n]*\"tries\":0[^\n]*", "", place.arcpd.arcp("ta", "hooks", "--json")):
        if time.monotonic() > end:
            raise Failed(f"no notification of {job}")
    program = Program(place, columns, ["hooks"], PLAIN)
    program.finish()
    head, *rows = program.screen().split("\n")
    last = [row for row in rows if row][-2:]  # a row, and its error
    return "\n".join([head, re.sub(r"(waiting|failed) +\d+ ?", r"\1 N ", last[0]).rstrip(), last[1]]) + "\n"


SCREENS = {
    "submit": shows("submit", "texts", "--lease", LEASE, "--budget", "USD:5.00", "--expires-in", "1h"),
    "submit-colours": shows("submit", "texts", "--lease", LEASE, environment={}),
    "submit-times": shows("submit", "texts", "--lease", LEASE, "--timestamps"),
    "submit-progress": progress,
    "submit-fails": shows("submit", "broken", status=1),
    "jobs": shows("jobs", "--limit", "1", "--agent", "texts", "--order", "oldest"),
    "jobs-of-all": shows("jobs", "--all-principals", "--limit", "1", "--agent", "texts", "--order", "oldest"),
    "show": shows("show", "JOB"),
    "logs": shows("logs", "JOB"),
    "logs-colours": shows("logs", "JOB", environment={}),
    "top": running("top", "--once"),
    "status": shows("status"),
    "sessions": running("sessions"),
    "cancel": cancel,
    "events": events,
    "agents": shows("agents"),
    "help": shows("ping", "--help"),
    "tools": shows("tools", "--config", "TOOLS", "--lease", '{"tool.call": ["web.s*"], "cost.budget": ["USD:1"]}', "web"),
    "tools-fails": shows("tools", "--config", "TOOLS", "dead", status=1),
    "error-agent": shows("submit", "text", status=1),
    "error-job": shows("show", "job_nowhere", status=1),
    "error-command": shows("jbos", status=2),
    "error-option": shows("submit", "texts", "--imput", "{}", status=2),
    "error-connection": shows("jobs", "--url", "ws://127.0.0.1:1/arcp", status=3),
    "error-token": shows("jobs", "--token", "wrong", status=3),
    "top-live": live_top,
    "jobs-follow": jobs_follow,
    "logs-follow": logs_follow,
    "logs-stderr": logs_stderr,
    "schedules": shows("schedules"),
    "hooks": hooks,
}


def main():
    words = sys.argv[1:]
    accepts = "--accept" in words
    words = [word for word in words if word != "--accept"]
    source, build = (os.path.abspath(word) for word in words[:2])
    folder = os.path.join(source, "tests/arcp/screens")
    place = Place(source, build)
    failed = 0
    try:
        for name, play in SCREENS.items():
            if words[2:] and name not in words[2:]:
                continue
            try:
                found = "".join(f"== {columns} columns\n{mask(play(place, columns), place.arcpd.url)}" for columns in WIDTHS)
            except Failed as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
                continue
            path = os.path.join(folder, name + ".txt")
            if accepts:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(found)
                continue
            with open(path, encoding="utf-8") as file:
                expected = file.read()
            if found != expected:
                failed += 1
                print(f"FAIL {name} is\n{found}\nnot\n{expected}", flush=True)
    finally:
        place.arcpd.close()
    print(f"screens: {len(SCREENS)} at {len(WIDTHS)} widths, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
