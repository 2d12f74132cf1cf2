#!/usr/bin/env python3
"""Figures of the dashboard: how fast it is, and what it costs. They mean something on a machine with nothing else to do.

    tests/dashboard/figures.py PROGRAMS [SECONDS]

Prints a line for each. Needs the same browser as browser_test.py, and `arcp-bench` beside the other programs. Where a line begins with
"page", the list of 50 000 jobs, or the hour of a busy log, is made in the browser, in place of the runtime's answers. The 50 000 jobs in
arcpd have ended there, in one served process.
"""

import glob
import gzip
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases_bounds import FEED, count_nodes  # noqa: E402
from place import Place, go, restart, sign_in  # noqa: E402
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


JOBS = 50000
HOUR_OF_EVENTS = 200 * 3600
# Answers each request for events with the next 500 of an hour's, at once.
BUSY = """
const [count, done] = arguments;
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (text) {
  const frame = JSON.parse(text);
  if (frame.type !== 'x-vendor.arcpd.events') { send.call(this, text); return; }
  const from = frame.payload.after ?? 0;
  const events = Array.from({ length: Math.min(500, count - from) }, (_, i) => ({ position: from + i + 1,
    record: { type: 'job.event', payload: { kind: 'log', ts: new Date(1.7e12 + (from + i) * 5).toISOString(), body: { level: 'info', message: `event ${from + i} of a busy hour` } } } }));
  const more = from + events.length < count;
  setTimeout(() => this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify({ arcp: '1.1', id: 'x', type: 'x-vendor.arcpd.events.answer', payload: { request_id: frame.id, events, more } }) })));
  if (!more) window.hourIsOver = true;
};
done();
"""
# Frames of two seconds in which the reader scrolls through the whole table.
SCROLL = """
const done = arguments[0]; const s = document.querySelector('.scroller'); const gaps = []; let last = performance.now(); const begin = last;
requestAnimationFrame(function frame(now) {
  gaps.push(now - last); last = now;
  s.scrollTop = (s.scrollHeight - s.clientHeight) * Math.min(1, (now - begin) / 2000);
  if (now - begin < 2000) requestAnimationFrame(frame); else done([1000 / gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)], gaps.at(-1)]);
});"""


# A served agent that ends each job at once.
SERVED = """#!/usr/bin/env python3
import arcp_agent
arcp_agent.serve(lambda job: None)
"""
SERVED_CONFIG = """
store: "sqlite:{directory}/arcp.db"
enforce: {{mode: off}}
tokens: [{{token: ta, principal: alice}}]
limits: {{submits_per_sec: 1000000, submit_burst: 1000000}}
agents:
  - {{name: quick, command: [python3, '{agents}/served.py'], mode: serve, processes: 1, concurrency: 64, env: {{PYTHONPATH: '{helpers}'}}}}
"""
# Milliseconds from each request to its answer, the median of 7, and how many rows the answer has.
ASKED = """
const [url, payloads, done] = arguments;
const socket = new WebSocket(url);
const waiting = new Map();
let last = 0;
const ask = (type, payload) => new Promise((resolve) => { waiting.set(String(++last), resolve); socket.send(JSON.stringify({ arcp: '1.1', id: String(last), type, payload })); });
socket.onmessage = ({ data }) => {
  const frame = JSON.parse(data);
  const id = frame.payload?.request_id ?? (frame.type === 'session.welcome' ? '1' : null);
  waiting.get(id)?.(frame.payload);
};
socket.onopen = async () => {
  await ask('session.hello', { client: { name: 'figures' }, auth: { scheme: 'bearer', token: 'ta' }, capabilities: { features: ['x-vendor.arcpd.view'] } });
  const results = [];
  for (const payload of payloads) {
    const times = [];
    let rows = 0;
    for (let i = 0; i < 7; i++) {
      const begin = performance.now();
      rows = (await ask('x-vendor.arcpd.jobs', payload)).jobs?.length;
      times.push(performance.now() - begin);
    }
    results.push([times.sort((a, b) => a - b)[3], rows]);
  }
  socket.close();
  done(results);
};"""


def heap_bytes(browser):
    """What the objects of the page need, after a collection."""
    browser.command("POST", "/goog/cdp/execute", {"cmd": "HeapProfiler.collectGarbage", "params": {}})
    return browser.command("POST", "/goog/cdp/execute", {"cmd": "Runtime.getHeapUsage", "params": {}})["usedSize"]


def page_files():
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/dashboard/page/*")
    texts = [open(path, "rb").read() for path in glob.glob(page)]
    print(f"page: {len(texts)} files, {sum(map(len, texts))} bytes, {sum(len(gzip.compress(text, 9)) for text in texts)} compressed", flush=True)


def many_jobs(browser, place):
    sign_in(browser, place)
    browser.run_async(FEED, JOBS)
    took = browser.run_async("""const done = arguments[0]; const begin = performance.now(); location.hash = '#/jobs';
        (function look() { if (document.querySelector('main .rows .row')) done(performance.now() - begin); else requestAnimationFrame(look); })();""")
    print(f"page with {JOBS} jobs: {took:.0f} ms to the first rows", flush=True)
    browser.wait("const s = document.querySelector('.scroller'); s.scrollTop = s.scrollHeight; return /^50,?000 jobs/m.test(document.querySelector('main').innerText);", what="all jobs", seconds=300)
    rate, worst = browser.run_async(SCROLL)
    print(f"page with {JOBS} jobs: {rate:.0f} frames/s while scrolling through all, {worst:.0f} ms the longest; {count_nodes(browser)} elements, {heap_bytes(browser) / 1e6:.0f} MB", flush=True)
    took = browser.run_async("""const done = arguments[0]; const begin = performance.now(); location.hash = '#/jobs?text=work';
        (function look() { if (document.querySelector('[name=text]').value === 'work' && document.querySelector('main .rows .row')) done(performance.now() - begin); else requestAnimationFrame(look); })();""")
    print(f"page with {JOBS} jobs: {took:.0f} ms to the rows of a filter", flush=True)


def jobs_in_arcpd(browser, programs):
    place = Place(programs)
    try:
        with open(os.path.join(place.arcpd.agents, "served.py"), "w", encoding="utf-8") as file:
            file.write(SERVED)
        helpers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../helpers/python")
        restart(place, SERVED_CONFIG.format(directory=place.arcpd.directory, agents=place.arcpd.agents, helpers=helpers))
        place.arcpd.arcp("ta", "bench", "--agent", "quick", "--in-flight", "64", "--jobs", str(JOBS), "--warmup", "0s", seconds=600)
        browser.open(place.arcpd.page)
        for what, (took, rows) in zip(("the newest 500", "a text that no job has"),
                                      browser.run_async(ASKED, place.arcpd.url, [{"limit": 500}, {"limit": 500, "filter": {"text": "no job has this"}}])):
            print(f"arcpd with {JOBS} jobs: {took:.1f} ms from the request for {what} to the answer with {rows} rows", flush=True)
    finally:
        place.arcpd.close()


def busy_hour(browser, place):
    job = place.submit(wait=True)
    sign_in(browser, place)
    before = heap_bytes(browser)
    browser.run_async(BUSY, HOUR_OF_EVENTS)
    go(browser, f"#/job/{job}")
    browser.wait("return window.hourIsOver && document.querySelector('main').innerText.includes('20,000 events');", what="the end of the hour", seconds=600)
    print(f"page after an hour at 200 events/s: {heap_bytes(browser) / 1e6:.0f} MB (before it {before / 1e6:.0f} MB), {count_nodes(browser)} elements", flush=True)


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
        path = os.path.join(place.arcpd.agents, "steady.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(STEADY)
        os.chmod(path, 0o755)
        place.arcpd.kill()
        place.arcpd.write(place.config + f"  - {{name: steady, command: ['{path}']}}\n")
        place.arcpd.start()
        place.finish()
        page_files()
        with Browser() as browser:
            sign_in(browser, place)
            print(f"first view: {first_view(browser, place):.0f} ms", flush=True)
            job = place.submit(agent="steady", rate=2000, seconds=seconds + 5)
            go(browser, f"#/job/{job}")
            browser.wait_text("event", ".rows")
            print(f"at 2000 events/s: {browser.run_async(FRAMES, seconds):.0f} frames/s (median of {seconds} s)", flush=True)
            print(f"memory of the page's objects after that: {heap_bytes(browser) / 1e6:.0f} MB", flush=True)
            place.arcpd.arcp("ta", "wait", job, check=False)
            jobs_in_arcpd(browser, programs)
            many_jobs(browser, place)
            busy_hour(browser, place)
            sign_in(browser, place)
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
