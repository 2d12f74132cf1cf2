"""The programs of README.md that show their output are run; tests/examples/guide.py runs those in files."""
import re
import subprocess
import sys

import pytest

from conftest import ROOT


class Program:
    """One block ```python of a page, and the block of what it prints behind it."""

    def __init__(self, page, text, shown):
        self.page = page
        self.text = text
        self.shown = shown


def programs(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python[^\n]*\n(.*?)```\n(?:\n```\n(.*?)```\n)?", text, re.DOTALL)
    return [Program(page, program, shown) for program, shown in blocks]


README = [one for one in programs("README.md") if one.shown]
PROGRAMS = README + programs("docs/python.md") + programs("bindings/python/README.md")


def test_the_readme_has_a_program_for_a_job_and_one_for_a_lease():
    assert len(README) == 3 and "Lease" in README[0].text and "run" in README[1].text and "Client" in README[2].text


@pytest.mark.parametrize("program", README, ids=lambda one: one.text.split("\n")[0])
def test_program_of_the_readme(program, daemon):
    assert program.text.count("\n") < 25 and program.shown
    text = program.text.replace("ws://127.0.0.1:7777/arcp", daemon.url)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (program.shown, "")
