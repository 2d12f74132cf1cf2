#!/usr/bin/env python3
"""axe-core finds nothing serious in any view of the dashboard, light and dark, wide and narrow.

    tests/dashboard/axe_test.py PROGRAMS

axe-core comes from the npm registry, in the version below. Without npm, the registry or the browser it ends with status 77, and says so.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pictures  # noqa: E402
from place import Place  # noqa: E402
from webdriver import Browser, is_installed  # noqa: E402

AXE = "axe-core@4.10.2"
SERIOUS = ("serious", "critical")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def skip(why):
    print(f"not run: {why}")
    return 77


def fetch():
    """The text of axe-core, or None."""
    directory = tempfile.mkdtemp(prefix="arcp-axe-")
    try:
        done = subprocess.run(["npm", "pack", "--silent", AXE], cwd=directory, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            return None
        with tarfile.open(os.path.join(directory, done.stdout.split()[-1])) as package:
            return package.extractfile("package/axe.min.js").read().decode()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def check(browser, axe):
    """The findings that count: [(rule, impact, element)]."""
    if not browser.run("return typeof window.axe === 'object';"):
        browser.run(axe + "; window.axe = axe;")
    violations = browser.run_async("const done = arguments[1]; axe.run(document, { runOnly: arguments[0] }).then((r) => done(r.violations), (e) => done([{ id: String(e), impact: 'critical', nodes: [] }]));",
                                   RULES)
    return [(v["id"], v["impact"], node["html"][:150], " ".join(node["failureSummary"].split())[:200]) for v in violations if v["impact"] in SERIOUS
            for node in v["nodes"] or [{"html": "", "failureSummary": ""}]]


def main():
    programs = os.path.abspath(sys.argv[1])
    if not is_installed():
        return skip("Debian's chromium and chromium-driver are missing (tools/install-deps.sh --browser)")
    if shutil.which("npm") is None:
        return skip("npm is missing")
    axe = fetch()
    if axe is None:
        return skip(f"the npm registry did not give {AXE}")
    place = Place(programs)
    found = 0
    try:
        job = pictures.fill(place)
        for screen, width, height, dark in pictures.SCREENS:
            with Browser(width, height, dark) as browser:
                browser.narrow(width, height)
                for name in pictures.walk(place, browser, job):
                    findings = check(browser, axe)
                    found += len(findings)
                    print(f"{'FAIL' if findings else 'ok  '} {name}, {screen}", flush=True)
                    for finding in findings:
                        print("     " + " | ".join(finding), flush=True)
    finally:
        place.arcpd.close()
    print(f"{found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
