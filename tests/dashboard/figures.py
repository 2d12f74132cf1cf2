#!/usr/bin/env python3
"""Figures of the dashboard: how fast it is, and what it costs. They mean something on a machine with nothing else to do.

    tests/dashboard/figures.py PROGRAMS [SECONDS]

Prints a line for each. Needs the same browser as browser_test.py.
"""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from place import Place, go, sign_in  # noqa: E402
from webdriver import Browser, is_installed  # noqa: E402

PAGES = 20
TICKS = os.sysconf("SC_CLK_TCK")
STEADY = r"""#!/usr/bin/env python3
import json, sys, time
ask = json.loads(sys.stdin.readline())["payload"]["input"]
begin = time.monotonic()
for i in range(ask["rate"] * ask["seconds"]):
    print(json.dumps({"type": "job.event", "payload": {"kind": "log", "body": {"level": "info", "message": f"event {i}"}}}), flush=i % 20 == 19)
    if i % 20 == 19:
        time.sleep(max(0, begin + i / ask["rate"] - time.monotonic()))
print(json.dumps({"type": "job.result", "payload": {"result": None}}), flush=True)
"""
FRAMES = """
const [seconds, done] = arguments;
const gaps = [];
let last = performance.now();
const end = last + seconds * 1000;
requestAnimationFrame(function frame(now) {
  gaps.push(now - last);
  last = now;
  if (now < end) requestAnimationFrame(frame);
  else done(1000 / gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)]);
});"""


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def first_view(browser, place):
    """From the navigation to the first row, in ms, of a page that is signed in; the best of five."""
    best = None
    for _ in range(5):
        browser.open(place.arcpd.page)
        took = browser.run_async("""const done = arguments[0];
            (function look() { if (document.querySelector('.rows .row')) done(performance.now()); else requestAnimationFrame(look); })();""")
        best = took if best is None else min(best, took)
    return best


def main():
    programs, seconds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 30
    if not is_installed():
        print("not run: Debian's chromium and chromium-driver are missing (tools/install-deps.sh --browser)")
        return 77
    place = Place(programs)
    try:
        path = os.path.join(place.arcpd.directory, "steady.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(STEADY)
        os.chmod(path, 0o755)
        place.arcpd.kill()
        place.arcpd.write(place.config + f"  - {{name: steady, command: ['{path}']}}\n")
        place.arcpd.start()
        place.finish()
        with Browser() as browser:
            sign_in(browser, place)
            print(f"first view: {first_view(browser, place):.0f} ms", flush=True)
            job = place.submit(agent="steady", rate=2000, seconds=seconds + 5)
            go(browser, f"#/job/{job}")
            browser.wait_text("event", ".rows")
            print(f"at 2000 events/s: {browser.run_async(FRAMES, seconds):.0f} frames/s (median of {seconds} s)", flush=True)
            memory = browser.run("return performance.memory ? performance.memory.usedJSHeapSize : 0;")
            print(f"memory of the page's objects after that: {memory / 1e6:.0f} MB", flush=True)
            place.arcpd.arcp("ta", "wait", job, check=False)
            go(browser, "#/jobs")
            key = browser.run("return sessionStorage.getItem('arcp.page_key');")
            for _ in range(PAGES - 1):
                browser.open_tab()
                browser.open(place.arcpd.page)
                browser.run("sessionStorage.setItem('arcp.page_key', arguments[0]);", key)
                browser.open(place.arcpd.page)
                browser.wait_text("Overview", "h1")
            before = cpu_seconds(place.arcpd.process.pid)
            time.sleep(seconds)
            used = cpu_seconds(place.arcpd.process.pid) - before
            print(f"{PAGES} idle pages: arcpd uses {100 * used / seconds:.1f} % of a core", flush=True)
    finally:
        place.arcpd.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
