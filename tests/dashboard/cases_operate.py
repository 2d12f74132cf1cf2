"""What operators and submitters do: sessions, hooks, schedules, and the form for a job."""

import json

from place import HOSTILE, Worker, check, go, restart, shared, sign_in, with_workers

MORE = """
hooks:
  - {name: mail, on: [end], command: [sh, -c, 'echo <b>gone</b> >&2; exit 1']}
schedules:
  - {name: yearly, cron: "@yearly", agent: hello, principal: alice, lease: {}}
  - {name: of-bob, cron: "@yearly", agent: hello, principal: bob, lease: {}}
"""


def an_operator_sees_and_ends_sessions(place, browser):
    held = place.arcpd.begin("tb", "submit", "work", "--input", '{"wait": true}')
    sign_in(browser, place, "to")
    go(browser, "#/sessions")
    browser.wait_text("this page", "main")
    browser.wait("""const again = [...document.querySelectorAll('button')].find((b) => b.innerText === 'Look again');
        if (document.querySelector('main').innerText.includes('bob')) return true; again.click(); return false;""", what="the session of bob is listed")
    check(browser.run("return document.querySelectorAll('tbody .danger').length === document.querySelectorAll('tbody tr').length - 1;"), "the page's own session has a button to end it")
    browser.run("document.querySelector('button[aria-label$=\"of bob\"]').click();")
    browser.wait_text("End this session?", "dialog")
    browser.click("dialog .danger")
    browser.wait("return !document.querySelector('dialog').open && !document.querySelector('main').innerText.includes('bob');", what="the session is ended and gone")
    check(held.wait(20) != 0, "the client of the session goes on")
    browser.run("sessionStorage.clear();")


def a_viewer_sees_sessions_and_hooks_and_ends_none(place, browser):
    restart(place, place.config.replace("role: operator", "role: viewer") + MORE)
    place.finish("ta")
    sign_in(browser, place, "to")
    go(browser, "#/sessions")
    browser.wait_text("this page", "main")
    check(browser.run("return document.querySelectorAll('tbody .danger').length;") == 0, "a viewer is offered to end sessions")
    go(browser, "#/hooks")
    browser.wait_text("mail", "tbody")
    check(browser.run("return document.querySelectorAll('tbody button').length;") == 0, "a viewer is offered to drop notifications")


def an_operator_retries_and_drops_notifications(place, browser):
    restart(place, place.config + MORE)
    job = place.finish("ta")
    sign_in(browser, place, "to")
    go(browser, "#/hooks")
    browser.wait_text(job[-6:], "tbody")
    browser.wait("""if (/waiting/.test(document.querySelector('tbody').innerText)) return true;
        [...document.querySelectorAll('.actions button')].find((b) => b.innerText === 'Look again').click(); return false;""", what="the first attempt has failed")
    check("<b>" not in browser.run("return document.querySelector('tbody').innerHTML;"), "what a hook wrote is markup")
    browser.run("document.querySelector('button[aria-label^=Retry]').click();")
    browser.run("document.querySelector('button[aria-label^=Drop]').click();")
    browser.wait_text("Drop this notification?", "dialog")
    browser.click("dialog .danger")
    browser.wait_text("No notification waits", "main")
    check("ntf_" not in place.arcpd.arcp("to", "hooks"), "arcp lists the notification that was dropped")


LOOK_UNTIL_GONE = """if (!document.querySelector('tbody').innerText.includes(arguments[0])) return true;
[...document.querySelectorAll('.actions button')].find((b) => b.innerText === 'Look again')?.click(); return false;"""
WORKER_ROW = "return [...document.querySelectorAll('tbody tr')].find((row) => row.cells[0].innerText === arguments[0])?.innerText;"


def an_operator_sees_and_drains_workers_and_a_viewer_drains_none(place, browser):
    sign_in(browser, place, "to")
    go(browser, "#/workers")
    browser.wait_text("arcp-worker --config", "main .empty")
    restart(place, with_workers(place.config).replace("tokens:", "tokens:\n  - {token: tv, principal: vera, role: viewer}", 1))
    with Worker(place, "gpu-1") as worker:
        job = place.submit("ta", agent="train")
        sign_in(browser, place, "tv")
        go(browser, "#/workers")
        browser.wait_text("gpu-1", "tbody")
        listed = worker.listed()
        for name, shown in (("local", ["joined", "this machine"]), ("gpu-1", ["joined", "4", "train", "tune", "127.0.0.1"])):
            text = browser.run(WORKER_ROW, name)
            missing = [one for one in [*shown, str(listed[name]["pid"]), listed[name]["instance"], listed[name]["version"]] if one not in text]
            check(not missing, f"{name}: {missing} is not in {text}")
        check(browser.run("return document.querySelectorAll('tbody button').length;") == 0, "a viewer is offered to drain a worker")
        sign_in(browser, place, "to")
        go(browser, "#/agents")
        browser.wait("return [...document.querySelectorAll('tbody tr')].some((row) => /^train\\s+as the files of its workers say\\s+1 on 1 worker/.test(row.innerText));", what="an agent of a worker is listed")
        go(browser, "#/")
        browser.wait("return /Workers connected\\s+2\\s+none away, none draining\\s+Places taken on workers\\s+1 of 4/.test(document.querySelector('.charts').innerText);", what="the overview has the workers")
        check("workers   2 connected, 0 away, 0 draining; 1 of 4 places taken" in place.arcpd.arcp("to", "status"), "arcp says something else")
        check(json.loads(place.arcpd.arcp("to", "--json", "status"))["workers"] == {"joined": 2, "away": 0, "draining": 0, "jobs": 1, "capacity": 4}, "arcp --json says something else")
        go(browser, "#/workers")
        browser.wait_text("gpu-1", "tbody")
        check(browser.run("return [...document.querySelectorAll('tbody button')].map((b) => b.getAttribute('aria-label'));") == ["Drain gpu-1"], "not only gpu-1 can be drained")
        browser.click("tbody button")
        browser.wait_text("It has 1 job now", "dialog")
        browser.click("dialog .quiet")
        browser.wait("return !document.querySelector('dialog').open;", what="the dialog is closed")
        check(worker.listed()["gpu-1"]["state"] == "joined", "a worker that is kept is drained")
        browser.click("tbody button")
        browser.click("dialog .danger")
        browser.wait_text("draining", "tbody")
        check(browser.run("return document.querySelectorAll('tbody button').length;") == 0, "a worker that drains can be drained again")
        go(browser, "#/")
        browser.wait("return /Workers connected\\s+1\\s+1 draining/.test(document.querySelector('.charts').innerText);", what="the overview has the worker that drains")
        go(browser, "#/workers")
        browser.wait_text("draining", "tbody")
        place.arcpd.arcp("ta", "cancel", job, "--now")
        browser.wait(LOOK_UNTIL_GONE, "gpu-1", what="the worker has no jobs and is gone")
        check(worker.process.wait(20) == 0, "the worker did not end by itself")


def an_operator_forgets_a_worker_that_is_away_and_a_viewer_forgets_none(place, browser):
    restart(place, with_workers(place.config).replace("tokens:", "tokens:\n  - {token: tv, principal: vera, role: viewer}", 1))
    with Worker(place, "gpu-1") as worker:
        job = place.submit("ta", agent="train")
        worker.kill()
        sign_in(browser, place, "tv")
        go(browser, "#/workers")
        browser.wait("""if (/away/.test(document.querySelector('tbody')?.innerText)) return true;
            [...document.querySelectorAll('.actions button')].find((b) => b.innerText === 'Look again')?.click(); return false;""", what="the worker is away")
        check(browser.run("return document.querySelectorAll('tbody button').length;") == 0, "a viewer is offered to forget a worker")
        sign_in(browser, place, "to")
        browser.wait("return /Workers connected\\s+1\\s+1 away/.test(document.querySelector('.charts').innerText);", what="the overview has the worker that is away")
        go(browser, "#/workers")
        browser.wait_text("away", "tbody")
        browser.click("button[aria-label='Forget gpu-1']")
        browser.wait_text("its 1 job ends as lost", "dialog")
        browser.click("dialog .quiet")
        browser.wait("return !document.querySelector('dialog').open;", what="the dialog is closed")
        check(worker.listed()["gpu-1"]["state"] == "away", "a worker that is waited for is forgotten")
        browser.click("button[aria-label='Forget gpu-1']")
        browser.click("dialog .danger")
        browser.wait(LOOK_UNTIL_GONE, "gpu-1", what="the worker is forgotten")
        check("worker_lost" in place.arcpd.arcp("ta", "show", job, "--json"), "the job of the worker goes on")


@shared
def hostile_texts_of_workers_stay_texts(place, browser):
    """arcpd admits few characters in a worker's name: here the answer itself is replaced."""
    sign_in(browser, place, "to")
    row = {name: HOSTILE for name in ("name", "state", "since", "instance", "version", "peer", "pid", "capacity", "jobs")}
    browser.run("""window.violations = []; document.addEventListener('securitypolicyviolation', (e) => violations.push(e.violatedDirective));
        const parse = JSON.parse; JSON.parse = (...words) => { const frame = parse(...words);
          if (frame?.type === 'x-vendor.arcpd.workers.answer') frame.payload.workers = [arguments[0]]; return frame; };""", {**row, "agents": [{"agent": HOSTILE}] * 256})
    go(browser, "#/workers")
    browser.wait_text("and 236 more", "tbody")
    browser.click("tbody button")
    browser.wait_text("Drain this worker?", "dialog")
    found = browser.run("return [document.title, document.querySelectorAll('main img, main script, dialog img, dialog script').length, violations, /[\\u202e\\u001b]/.test(document.body.textContent)];")
    check(found == ["Workers · arcpd", 0, [], False], str(found))
    check("\\u{202e}" in browser.text("tbody") and "\\u{202e}" in browser.text("dialog"), "invisible characters are not shown")
    browser.run("document.querySelector('dialog').close();")


def schedules_are_shown_to_their_principal(place, browser):
    restart(place, place.config + MORE)
    sign_in(browser, place)
    go(browser, "#/schedules")
    browser.wait_text("yearly", "tbody")
    check("of-bob" not in browser.text("tbody"), "the schedules of others are shown")
    check("Sessions" not in browser.text("#nav") and "Hooks" not in browser.text("#nav"), browser.text("#nav"))
    go(browser, "#/sessions")  # not a view of a principal without a role
    browser.wait_text("Overview", "h1")


def fill(browser, **values):
    browser.run("""for (const [name, value] of Object.entries(arguments[0])) {
        const field = [...document.querySelectorAll('[name=' + name + ']')].at(-1);
        field.value = value; field.dispatchEvent(new Event('input', { bubbles: true })); }""", values)


def a_role_sees_the_room_of_agents(place, browser):
    restart(place, place.config + f"  - {{name: narrow, version: 2.0.0, command: ['{place.arcpd.agents}/agent.py'], max_jobs: 1}}\n")
    place.submit(agent="narrow", wait=True)
    place.submit(agent="narrow")
    place.finish("tb", agent="broken")
    sign_in(browser, place, "to")
    go(browser, "#/agents")
    browser.wait_text("narrow", "tbody")
    cells = "return [...[...document.querySelectorAll('tbody tr')].find((row) => row.cells[0].innerText === arguments[0]).cells].map((cell) => cell.innerText);"
    check(browser.run(cells, "narrow")[3:] == ["1 of 1", "1", "0", "0", "0"], f"narrow: {browser.run(cells, 'narrow')}")
    check("2.0.0" in browser.run(cells, "narrow")[1], "the version is missing")
    check(browser.run(cells, "broken")[3:] == ["0", "0", "0", "1", "0"], f"broken: {browser.run(cells, 'broken')}")
    sign_in(browser, place, "ta")
    go(browser, "#/agents")
    browser.wait_text("newest jobs that this page has loaded", "main")


def the_form_explains_each_line_before_a_job_is_made(place, browser):
    policy = "policy: [{principal: \"*\", agent: hello, max_lease: {fs.read: [/srv/a/**]}}]"
    restart(place, place.config.replace("enforce: {mode: off}", policy))
    sign_in(browser, place)
    go(browser, "#/submit?agent=work")
    browser.wait_text("Name an agent", ".worth")
    browser.click(".lease-lines + button")
    fill(browser, agent="work", capability="fs.read", pattern="/srv/**")
    browser.wait_text("The job would run", ".worth")
    browser.wait("return /fs.read\\s+\\/srv\\/\\*\\*\\s+enforced exactly/.test(document.querySelector('.worth').innerText);", what="the verdict on the line")
    browser.click(".lease-lines + button")
    fill(browser, capability="net.fetch", pattern="https://api.example.com/v1/x?*")
    browser.wait_text("with less than the lease says", ".worth")
    browser.wait_text("cannot be enforced here", ".worth")
    rows = json.loads(place.arcpd.arcp("ta", "--json", "lease", "explain", '{"net.fetch": ["https://api.example.com/v1/x?*"]}', "--enforce", check=False))["lines"]
    check(rows[0]["verdict"] == "refused" and rows[0]["text"] in browser.text(".worth"), f"arcp says {rows}, and the page {browser.text('.worth')}")
    check(place.arcpd.arcp("ta", "jobs", "--json") == "", "a job was made")
    place.arcpd.write(place.config.replace("mode: off}", "min: exact}\n" + policy))
    place.arcpd.arcp("to", "reload")
    fill(browser, pattern="https://api.example.com/v1/x?*")
    browser.wait_text("The job would be refused: net.fetch", ".worth")
    fill(browser, agent="hello")
    browser.wait_text("the operator's policy takes it away", ".worth")
    browser.wait_text("/srv/a/**", ".worth")


@shared
def the_form_names_the_field_and_what_would_be_right(place, browser):
    sign_in(browser, place)
    go(browser, "#/submit")
    browser.wait_text("Submit a job", "h1")
    rows = (({"agent": ""}, "agent", "Name the agent that does the job: work"), ({"agent": "wrok"}, "agent", "This runtime has: work"),
            ({"agent": "work", "input": "{\"a\""}, "input", "Write JSON, such as"), ({"input": "1", "budget": "2.50"}, "budget", "such as USD:2.50"),
            ({"budget": "USD:1.1234567890123456789"}, "budget", "18 significant digits"), ({"budget": "", "minutes": "soon"}, "minutes", "such as 30"),
            ({"minutes": "99999999"}, None, None))
    for values, name, message in rows:
        fill(browser, **values)
        if name is None:
            break
        browser.click("form button[type=submit]")
        browser.wait("return [...document.querySelectorAll('[aria-invalid]')].some((one) => one.name === arguments[0] && one.getAttribute('aria-describedby').split(' ').some((id) => document.getElementById(id)?.innerText.includes(arguments[1])));",
                     name, message, what=f"the field {name} says \"{message}\"")
        check(browser.run("return document.activeElement.name;") == name, f"the focus is not on {name}")
    fill(browser, minutes="")
    browser.click(".lease-lines + button")
    for values, name, message in (({}, "capability", "Line 1 has no capability"), ({"capability": "fs.reed"}, "pattern", "Line 1 has no pattern"),
                                  ({"pattern": "/srv/**"}, "capability", "unknown capability"), ({"capability": "__proto__"}, "capability", "unknown capability"),
                                  ({"capability": "fs.read", "pattern": "/" + "a" * 5000}, "pattern", "fs.read[0]")):
        fill(browser, **values)
        browser.click("form button[type=submit]")
        browser.wait("return document.querySelector('[aria-invalid][name=' + arguments[0] + ']')?.problem.innerText.includes(arguments[1]);", name, message, what=f"the field {name} says \"{message}\"")


@shared
def what_a_submit_said_of_a_field_stays_until_it_changes(place, browser):
    sign_in(browser, place)
    go(browser, "#/submit")
    browser.wait_text("Submit a job", "h1")
    browser.click(".lease-lines + button")
    fill(browser, agent="work", capability="fs.read", pattern="/srv/**")
    browser.wait_text("/srv/**", ".worth")
    fill(browser, pattern="")
    browser.click("form button[type=submit]")
    browser.wait_text("The lease has no lines", ".worth")
    check(browser.run("return document.querySelector('[aria-invalid][name=pattern]')?.problem.innerText.includes('no pattern');"), "the field says nothing")
    fill(browser, pattern="/srv/**")
    browser.wait("return document.querySelector('[aria-invalid]') === null;", what="the field is right")


def what_was_typed_outlasts_a_lost_connection(place, browser):
    sign_in(browser, place)
    go(browser, "#/submit")
    browser.wait_text("Submit a job", "h1")
    fill(browser, agent="work", input='{"text": "kept"}')
    place.arcpd.kill()
    browser.wait_text("connection to arcpd is lost", "#notice")
    browser.click("form button[type=submit]")
    browser.wait_text("The connection is lost", "form")
    place.arcpd.start()
    browser.wait("return document.querySelector('#notice').hidden;", what="the page is live again")
    check(browser.run("return document.querySelector('[name=input]').value;") == '{"text": "kept"}', "the input is lost")
    browser.click("form button[type=submit]")
    browser.wait("return location.hash.startsWith('#/job/');", what="the job is shown")
