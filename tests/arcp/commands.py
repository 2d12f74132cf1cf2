#!/usr/bin/env python3
"""Every command of the programs has a help, a manual and completions, and no text names a command that does not exist.

    tests/arcp/commands.py SOURCE BUILD

Texts are the manual pages, the pages in docs/, README.md and others at the top, comments of the configuration, and messages in src/.
Of a command line they show, the command, its subcommand and its options must exist.
"""

import glob
import os
import re
import subprocess
import sys

SHELLS = ("bash", "zsh", "fish")
problems = []


def problem(text):
    problems.append(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Programs:
    """What the programs of the build say of themselves."""

    def __init__(self, build):
        self.bin = os.path.join(build, "bin")
        overview = self.output("arcp", "--help")
        listed = overview.split("\ncommands:\n")[1].split("\n\n")[0]
        self.commands = re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)
        self.help = {name: self.output("arcp", name, "--help") for name in self.commands}
        self.every = self.options_in(overview.split("options of every command:")[1])
        self.options = {name: self.options_in(text.split("\noptions:\n")[1]) for name, text in self.help.items()}
        self.subcommands = {}
        for name, text in self.help.items():
            found = re.match(rf"usage: arcp {name} \[?([a-z|]+)[ \]\n]", text)
            self.subcommands[name] = found.group(1).split("|") if found else []
        self.options["lease"] |= self.options_in(self.output("arcp", "lease", "learn", "--help").split("\noptions:\n")[1])
        self.daemon = self.options_in(self.output("arcpd", "--help").replace("-V, ", "").replace("-h, ", ""))

    def output(self, program, *words):
        done = subprocess.run([os.path.join(self.bin, program), *words], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0 or done.stderr:
            problem(f"{program} {' '.join(words)}: exit status {done.returncode}, {done.stderr!r}")
        return done.stdout

    @staticmethod
    def options_in(text):
        return set(re.findall(r"^ +--([a-z-]+)", text, re.MULTILINE))


def check_help(programs):
    for name, text in programs.help.items():
        if not text.startswith(f"usage: arcp {name}"):
            problem(f"arcp {name} --help begins with {text[:40]!r}")
        if programs.output("arcp", "help", name) != text:
            problem(f"arcp help {name} is not arcp {name} --help")
        for word in programs.subcommands[name]:
            if not re.search(rf"usage: arcp {name}( {word}\b|)", programs.output("arcp", name, word, "--help")):
                problem(f"arcp {name} {word} --help is about something else")


def check_manual(programs, source):
    page = read(os.path.join(source, "man/arcp.1.scd"))
    synopsis = page.split("# SYNOPSIS\n")[1].split("\n# DESCRIPTION")[0]
    sections = re.findall(r"^## (.*)$", page.split("\n# COMMANDS\n")[1].split("\n# OPTIONS\n")[0], re.MULTILINE)
    described = [name for title in sections for name in title.split(", ")]
    for name in programs.commands:
        for word in programs.subcommands[name]:
            if not re.search(rf"\*arcp\* {name} [^\n]*\b{word}\b", synopsis):
                problem(f"man/arcp.1.scd: the synopsis has no arcp {name} {word}")
            if name not in described and f"{name} {word}" not in described:
                problem(f"man/arcp.1.scd: COMMANDS has no section about {name} {word}")
        if name not in described and not programs.subcommands[name]:
            problem(f"man/arcp.1.scd: COMMANDS has no section about {name}")
    for title in described:
        name, word = (title.split() + [""])[:2]
        if name not in programs.commands or (word and word not in programs.subcommands[name] and word[2:] not in programs.options[name]):
            problem(f"man/arcp.1.scd: COMMANDS has a section about {title}, which is not a command")
    # A piece begins with "*arcp* NAME"; lines that continue it are indented.
    for name, piece in re.findall(r"^\*arcp\* ([a-z]+)((?:.*\n)(?:\t.*\n)*)", synopsis, re.MULTILINE):
        if name not in programs.commands:
            problem(f"man/arcp.1.scd: the synopsis has {name}, which is not a command")
            continue
        for option in re.findall(r"\*--([a-z-]+)\*", piece):
            if option not in programs.options[name] | programs.every:
                problem(f"man/arcp.1.scd: the synopsis of {name} has --{option}, which it does not take")
    daemon = read(os.path.join(source, "man/arcpd.8.scd")).split("\n# OPTIONS\n")[1].split("\n# READY")[0]
    described = set(re.findall(r"\*--([a-z-]+)\*", "\n".join(line for line in daemon.split("\n") if line.startswith("*--"))))
    if described != programs.daemon:
        problem(f"man/arcpd.8.scd and arcpd --help differ: {sorted(described ^ programs.daemon)}")


def check_completions(programs, source):
    for shell in SHELLS:
        script = programs.output("arcp", "completion", shell)
        daemon = read(os.path.join(source, f"packaging/completions/arcpd.{shell}"))
        dashes = "-l " if shell == "fish" else "--"
        for name in programs.commands:
            names = rf"-a {name} " if shell == "fish" else rf"'{name}:" if shell == "zsh" else rf"[ \"]{name}[ \"]"
            if not re.search(names, script):
                problem(f"the completion of {shell} does not offer arcp {name}")
            for word in programs.subcommands[name]:
                if not re.search(rf"['\"( ]{word}[ '\")]", script):
                    problem(f"the completion of {shell} does not offer arcp {name} {word}")
        for option in programs.every.union(*programs.options.values()):
            if not re.search(rf"{dashes}{option}\b", script):
                problem(f"the completion of {shell} does not offer --{option}")
        offered = set(re.findall(rf"{dashes}([a-z][a-z-]*)", daemon))
        if offered != programs.daemon:
            problem(f"packaging/completions/arcpd.{shell} and arcpd --help differ: {sorted(offered ^ programs.daemon)}")


def command_lines(path, text):
    """The command lines that a text shows: (line number, what follows "arcp ")."""
    is_code = False
    begins = r"(?:^\s*|[;&|(] ?|\$ )(?:[A-Z_]+=\S+ )*(?:\S*bin/)?arcp ([^|;&>)]*)"
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
            continue
        if path.endswith((".c", ".h", ".def")):  # messages, texts of help and comments
            found = re.findall(r"`arcp ([^`\"]*)`", line)
        elif path.endswith(".scd"):
            line = line.replace("\\", "")
            found = re.findall(r"\*arcp ([a-z][^*]*)\*", line)
            found += re.findall(begins, line) if is_code or line.startswith("\t") else []
        elif path.endswith((".yaml", ".in", ".sh", "Makefile")):
            found = re.findall(r"`arcp ([^`]*)`", line)
        else:
            found = re.findall(r"`(?:[A-Z_]+=\S+ )*arcp ([^`]*)`", line)
            found += re.findall(begins, line) if is_code else []
        for words in found:
            yield number, words


def check_line(programs, where, line):
    # What is quoted is a value. After `--`, the words of another program begin.
    words = re.sub(r"'[^']*'|\"[^\"]*\"", "VALUE", re.split(r"[|;&>)#]| -- ", line)[0]).split()
    at = 0
    while at < len(words) and words[at].startswith("--"):
        takes_value = "=" not in words[at] and words[at][2:] in ("url", "token", "ca-file", "context", "config", "color")
        at += 2 if takes_value else 1
    if at >= len(words) or not re.fullmatch(r"[a-z][a-z-]*", words[at]):
        return  # "arcp COMMAND", "arcp --help", and the like
    name = words[at]
    if name == "help":
        return
    if name not in programs.commands:
        problem(f"{where}: `arcp {line.strip()}`: {name} is not a command")
        return
    following = words[at + 1:]
    if programs.subcommands[name] and following and re.fullmatch(r"[a-z]+", following[0]) and following[0] not in programs.subcommands[name]:
        problem(f"{where}: `arcp {line.strip()}`: {name} has no {following[0]}")
    is_program = name in ("run", "mcp") or (name == "lease" and following[:1] == ["learn"])
    skip = False
    for word in following:
        if skip:
            skip = False
            continue
        option = re.match(r"--([a-z-]+)(=?)", word)
        if option is None and is_program:
            return  # the words of its program
        if option is None:
            continue
        if option.group(1) not in programs.options[name] | programs.every:
            problem(f"{where}: `arcp {line.strip()}`: {name} does not take {word}")
        # Only of `run` and `mcp` it matters which words are values.
        skip = is_program and not option.group(2) and f"--{option.group(1)} " in programs.help[name].split("\noptions:\n")[0] and \
            not re.search(rf"\[--{option.group(1)}\]", programs.help[name])


def check_texts(programs, source):
    count = 0
    paths = [path for pattern in ("*.md", "docs/**/*.md", "man/*.scd", "packaging/*.yaml", "packaging/*.in", "src/**/*.[ch]",
                                  "src/**/*.def", "include/**/*.[h]", "include/**/*.def", "examples/**/*.md", "recipes/**/*.md")
             for path in glob.glob(os.path.join(source, pattern), recursive=True)]
    for path in sorted(paths):
        for number, line in command_lines(path, read(path)):
            count += 1
            check_line(programs, f"{os.path.relpath(path, source)}:{number}", line)
    return count


def check_refusals(programs):
    """The check of texts finds what is wrong."""
    rows = (("x.md", "`arcp kill JOB`", "kill is not a command"), ("x.md", "```sh\narcp --json lst\n```", "lst is not a command"),
            ("x.md", "`arcp audit look FILE`", "audit has no look"), ("x.md", "`arcp jobs --newest`", "jobs does not take --newest"),
            ("x.scd", "\tid=1 && arcp wach x", "wach is not a command"), ("x.c", "\"`arcp list` lists\"", "list is not a command"),
            ("x.md", "`arcp run --reed x -- make --all`", "run does not take --reed"), ("x.md", "`arcp run --read x -- make --all`", None),
            ("x.md", "`arcp --context p jobs --all`", None), ("x.md", "`arcp COMMAND`, `arcp submit x --grant 'a=--b'`", None),
            ("x.md", "`arcp run --write . make --all`", None), ("x.md", "arcp is a word", None))
    for path, text, wanted in rows:
        before = len(problems)
        for number, line in command_lines(path, text):
            check_line(programs, f"{path}:{number}", line)
        found = problems[before:]
        del problems[before:]
        if len(found) != (0 if wanted is None else 1) or (wanted is not None and wanted not in found[0]):
            problem(f"{text!r}: the check found {found}, not {wanted!r}")


def main():
    source, build = sys.argv[1:]
    programs = Programs(build)
    if len(programs.commands) < 20 or programs.subcommands["audit"] != ["verify", "grep"] or "status" not in programs.options["jobs"]:
        problem(f"the help cannot be read: {programs.commands}, {programs.subcommands}")
    check_help(programs)
    check_manual(programs, source)
    check_completions(programs, source)
    check_refusals(programs)
    count = check_texts(programs, source)
    if count < 100:
        problem(f"the texts show {count} command lines only")
    print("\n".join(problems) or f"commands: {len(programs.commands)}, and {count} command lines in texts")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
