#!/usr/bin/env python3
"""axe-core finds nothing serious in any view of the dashboard: by all rules in light colours on a wide screen, by those about colours in
the dark, and by those about what fits on a narrow one.

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
# Where each view is looked at, and what for: the other rules ask about elements and texts, which are the same everywhere.
LOOKS = [
    ("light", 1280, 800, "light", {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}),
    ("dark", 1280, 800, "dark", {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}),
    ("narrow", 360, 740, "light", {"type": "rule", "values": ["scrollable-region-focusable", "meta-viewport", "region"]}),
]


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


def check(browser, axe, rules):
    """The findings that count: [(rule, impact, element)]."""
    if not browser.run("return typeof window.axe === 'object';"):
        browser.run(axe + "; window.axe = axe;")
    violations = browser.run_async("""const [rules, done] = arguments;
        axe.run(document, { runOnly: rules, resultTypes: ['violations'], preload: false }).then((r) => done(r.violations), (e) => done([{ id: String(e), impact: 'critical', nodes: [] }]));""", rules)
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
        with pictures.filled(place) as job, Browser() as browser:
            for name in pictures.walk(place, browser, job):
                for screen, width, height, colours, rules in LOOKS:
                    browser.narrow(width, height)
                    browser.prefer(prefers_color_scheme=colours)
                    findings = check(browser, axe, rules)
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
