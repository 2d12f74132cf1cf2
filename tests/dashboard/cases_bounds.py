"""However much there is, the page has few elements, and asks for little."""

import os

from place import check, go, shared, sign_in

LEAVES = """#!/usr/bin/python3 -IS
import json, sys
start = json.loads(sys.stdin.readline())["payload"]
for i in range(start["input"]["children"]):
    print(json.dumps({"type": "delegate", "id": str(i), "payload": {"agent": "hello", "delegate_id": str(i)}}), flush=True)
    sys.stdin.readline()
print(json.dumps({"type": "job.result", "payload": {"result": [[n] * 150 for n in range(1000)]}}), flush=True)
"""
NODES_MAX = 4000
FEED = """
// Stands for the runtime: gives the page what an arcpd with many jobs would.
const [count, done] = arguments;
const row = (i) => ({ job_id: 'job_' + String(i).padStart(26, '0'), principal: 'alice', agent: 'work@1.0.0', status: 'success', created_at: new Date(1.7e12 + i * 1000).toISOString(),
  started_at: new Date(1.7e12 + i * 1000).toISOString(), ended_at: new Date(1.7e12 + i * 1000 + 500).toISOString(), denials: i % 7, children: 0 });
window.asked = 0;
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (text) {
  const frame = JSON.parse(text);
  if (frame.type !== 'x-vendor.arcpd.jobs') { send.call(this, text); return; }
  window.asked += 1;
  const { cursor, limit } = frame.payload;
  const from = cursor ? Number(cursor) : count;
  const jobs = Array.from({ length: Math.min(limit, from) }, (_, k) => row(from - 1 - k));
  const next = from - jobs.length;
  setTimeout(() => this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify({ arcp: '1.1', id: 'x', type: 'x-vendor.arcpd.jobs.answer',
    payload: { request_id: frame.id, jobs, next_cursor: next > 0 ? String(next) : null } }) })));
};
done();
"""


def count_nodes(browser):
    return browser.run("return document.querySelectorAll('*').length;")


@shared
def many_jobs_are_few_elements_and_few_requests(place, browser):
    sign_in(browser, place)
    browser.run_async(FEED, 3000)
    go(browser, "#/jobs")
    browser.wait_text("500 jobs loaded", "main")
    check(browser.run("return asked;") == 1, "the first view asks for more than a page")
    check(count_nodes(browser) < 1200, f"{count_nodes(browser)} elements")
    browser.wait("const s = document.querySelector('.scroller'); s.scrollTop = s.scrollHeight; return /^3,?000 jobs$/m.test(document.querySelector('main').innerText);", what="scrolling loads all jobs")
    check(browser.run("return asked;") == 6, "as many requests as pages")
    check(count_nodes(browser) < 1200, f"{count_nodes(browser)} elements")
    browser.wait("const s = document.querySelector('.scroller'); s.scrollTop = s.scrollHeight; return s.innerText.includes('…000000');", what="the oldest job")
    order = browser.run("return [...document.querySelectorAll('.rows .row')].map((row) => [row.getAttribute('aria-rowindex'), row.offsetTop]).every(([i, top], k, all) => k === 0 || (i - all[k - 1][0] === 1 && top > all[k - 1][1]));")
    check(order, "the rows of the document are not in the order of the table")


@shared
def a_row_that_is_pressed_while_it_changes_is_opened(place, browser):
    job = place.submit(wait=True)
    sign_in(browser, place)
    go(browser, "#/jobs")
    browser.wait_text("running", ".rows")
    same = browser.run_async("""const done = arguments[0]; const row = document.querySelector('.rows .row'); const text = row.innerText;
        const look = () => (row.innerText === text && row.isConnected ? setTimeout(look, 20) : done(row.isConnected)); look();""")
    check(same, "a row is another element when its time has changed")
    browser.click(".rows .row .w-agent")
    browser.wait("return location.hash === arguments[0];", f"#/job/{job}", what="the job is opened")


@shared
def a_log_keeps_what_it_may_and_no_more(place, browser):
    browser.open(place.arcpd.page)
    module = browser.run("return document.querySelector('script[type=module]').src.replace('main.js', 'view_events.js');")
    result = browser.run_async("""const [url, done] = arguments; import(url).then(({ EventLog }) => {
        const record = (i, size) => ({ position: i, record: { type: 'job.event', payload: { kind: 'log', ts: '2026-01-01T00:00:00Z', body: { level: 'info', message: 'm'.repeat(size) } } } });
        const results = [];
        let log = new EventLog(null, 'j');
        for (let i = 0; i < 720000; i += 500) log.add(Array.from({ length: 500 }, (_, k) => record(i + k, 1)), false); // an hour of 200 a second
        results.push([log.events.length, log.events[0].position, log.hasOlder, log.bytes === log.events.reduce((all, e) => all + e.size, 0)]);
        log.add(Array.from({ length: 500 }, (_, k) => record(k, 1)), true); // scrolled to the beginning: the newest go
        results.push([log.events.length, log.events[0].position]);
        log = new EventLog(null, 'j');
        for (let i = 0; i < 40; i += 1) log.add([record(i, 1 << 20)], false);
        results.push([log.events.length, log.bytes <= 16 * 1024 * 1024]);
        done(results);
      });""", module)
    check(result == [[20000, 700000, True, True], [20000, 0], [15, True]], str(result))


def what_an_agent_says_does_not_make_the_page_large(place, browser):
    kinds = [[f"x-vendor.k{i}", {"a": i}] for i in range(200)]
    models = [["metric", {"name": "cost.inference", "value": 0.0000001, "unit": "USD", "dimensions": {"model": f"n{i}"}}] for i in range(100)]
    costs = [["metric", {"name": "cost.inference", "value": 0.0000001, "unit": f"C{i % 30}", "dimensions": {"model": f"m{i}"}}] for i in range(60)]
    job = place.finish(emit=kinds + models + costs, long=60000)
    path = os.path.join(place.arcpd.directory, "leaves.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(LEAVES)
    os.chmod(path, 0o755)
    place.arcpd.write(place.config + f"  - {{name: leaves, command: ['{path}']}}\n")
    place.arcpd.arcp("to", "reload")
    wide = place.finish(agent="leaves", lease={"agent.delegate": ["**"]}, children=60)
    lease = {f"x-vendor.v.c{c}": [f"p{i}" for i in range(1000)] for c in range(10)}
    long = place.finish(agent="hello", lease=lease)
    sign_in(browser, place)
    go(browser, f"#/job/{job}/log")
    browser.wait_text("other", "fieldset")
    check(browser.run("return document.querySelectorAll('fieldset label').length;") <= 21, "each kind has a box")
    check(browser.run("return Math.max(...[...document.querySelectorAll('.rows .cell')].map((cell) => cell.textContent.length));") < 3000, "a row has the whole of a long text")
    for address, text, shown in ((f"#/job/{job}/money", "largest of", ".tab-body"), (f"#/job/{wide}/result", "[1000]", ".tab-body"), (f"#/job/{wide}/tree", "hello", ".tree"),
                                 (f"#/job/{long}/authority", "Show more: 9,800 are left", ".tab-body")):
        go(browser, address)
        browser.wait_text(text, shown)
        check(count_nodes(browser) < NODES_MAX, f"{address}: {count_nodes(browser)} elements")
    browser.run("[...document.querySelectorAll('button')].find((b) => b.innerText.startsWith('Show more')).click();")
    check(browser.run("return document.querySelectorAll('.tab-body tbody tr').length;") >= 400, "there are no more lines")
    go(browser, f"#/job/{job}/money")
    browser.wait_text("0.0000001", ".tab-body")


@shared
def a_wide_delegation_is_asked_for_a_bounded_number_of_times(place, browser):
    browser.open(place.arcpd.page)
    module = browser.run("return document.querySelector('script[type=module]').src.replace('main.js', 'view_tree.js');")
    asked, nodes, text = browser.run_async("""const [url, done] = arguments; import(url).then(({ show }) => {
        let asked = 0;
        let made = 0;
        const row = () => ({ job_id: `job_${made += 1}`, agent: 'a', status: 'running', children: 100 });
        const session = { everybody: {}, ask: async (name, { limit }) => { asked += 1; return { jobs: Array.from({ length: limit }, row), next_cursor: 'more' }; } };
        const main = document.createElement('div');
        show(main, { session, job: row });
        const look = () => (main.querySelector('.tree') ? done([asked, main.querySelectorAll('li').length, main.innerText]) : setTimeout(look, 10));
        look();
      });""", module)
    check(asked <= 40 and nodes <= 500 and "Not all descendants" in text, f"{asked} requests, {nodes} jobs")
