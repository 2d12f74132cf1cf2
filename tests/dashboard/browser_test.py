#!/usr/bin/env python3
"""The dashboard in a real browser, against a real arcpd.

    tests/dashboard/browser_test.py PROGRAMS [--screenshots DIRECTORY] [NAME...]

Needs Debian's chromium and chromium-driver (tools/install-deps.sh --browser). Without them it ends with status 77, and says so;
with CI set that is a failure. Runs the tests whose names contain one of NAME (all without any).
"""

import http.server
import inspect
import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases_access  # noqa: E402
import cases_attack  # noqa: E402
import cases_bounds  # noqa: E402
import cases_connection  # noqa: E402
import cases_operate  # noqa: E402
from place import HOSTILE, LEASE, Place, check, get, go, leave, restart, shared, sign_in  # noqa: E402
from webdriver import Browser, Failed, is_installed  # noqa: E402

# ---- signing in ----

@shared
def a_typed_token_is_used_once_and_only_a_key_is_kept(place, browser):
    sign_in(browser, place)
    kept = browser.run("return JSON.stringify([Object.entries(sessionStorage), Object.entries(localStorage), document.cookie]);")
    check("page_key_" in kept and f'"{place.token}"' not in kept, f"kept: {kept}")
    browser.open(place.arcpd.page)  # loaded again: the key signs in
    browser.wait_text("Overview", "h1")
    browser.wait_text(place.principal, "#who")


@shared
def a_wrong_token_is_refused_and_asked_for_again(place, browser):
    leave(browser)
    browser.open(place.arcpd.page)
    browser.wait_text("Sign in", "h1")
    browser.type("#token", "wrong")
    browser.click("button[type=submit]")
    browser.wait_text("not valid here", "[role=alert]")


@shared
def signing_out_ends_the_key(place, browser):
    sign_in(browser, place)
    key = browser.run("return sessionStorage.getItem('arcp.page_key');")
    browser.click("#who button")
    browser.wait_text("Sign in", "h1")
    check(browser.run("return sessionStorage.length;") == 0, "the key is still in the browser")
    browser.run("sessionStorage.setItem('arcp.page_key', arguments[0]);", key)
    browser.open(place.arcpd.page)
    browser.wait_text("Sign in", "h1")


@shared
def a_link_signs_in_once_after_asking(place, browser):
    leave(browser)
    link = place.link("to")
    browser.open(link)
    browser.wait_text("Sign in as olga (operator)?", "dialog")
    check(browser.run("return sessionStorage.length;") == 0, "a key is kept before the answer")
    check("code" not in browser.run("return location.href;"), "the code is still in the address")
    browser.click("dialog button[type=submit]")
    browser.wait_text("olga", "#who")
    check(browser.run("return location.pathname;") == "/ui/", "the link does not lead to the page")
    browser.run("sessionStorage.clear();")
    browser.open("about:blank")
    browser.open(link)
    browser.wait_text("not valid here", "[role=alert]")


@shared
def a_link_that_is_declined_signs_nobody_in(place, browser):
    leave(browser)
    browser.open(place.link("to"))
    browser.wait_text("Sign in as olga (operator)?", "dialog")
    browser.click("dialog button.quiet")
    browser.wait_text("Sign in", "h1")
    check(browser.run("return sessionStorage.length;") == 0, "a key is kept")
    check("olga" not in browser.text(), "the page still shows the principal")


def a_key_survives_a_restart(place, browser):
    sign_in(browser, place)
    place.arcpd.kill()
    browser.wait_text("connection to arcpd is lost", "#notice")
    check(browser.run("return document.body.classList.contains('stale');"), "what is not live is not greyed")
    place.arcpd.start()
    browser.wait("return !document.body.classList.contains('stale') && document.querySelector('#notice').hidden;", what="the page is live again")
    browser.wait_text("alice", "#who")
    browser.open(place.arcpd.page)  # loaded anew, as well
    browser.wait_text("Overview", "h1")


def a_key_ends_when_its_token_is_removed_while_arcpd_is_down(place, browser):
    sign_in(browser, place)
    restart(place, place.config.replace("{token: ta, principal: alice}", "{token: tz, principal: alice}"))
    browser.wait_text("Sign in", "h1")
    check(browser.run("return sessionStorage.length;") == 0, "the key is still in the browser")


def a_key_ends_when_its_token_gets_another_role(place, browser):
    sign_in(browser, place, "to")
    restart(place, place.config.replace("role: operator", "role: viewer"))
    browser.wait_text("Sign in", "h1")


def a_reload_ends_the_keys_of_removed_tokens_only(place, browser):
    keys = {}
    for token in ("ta", "tb"):
        sign_in(browser, place, token)
        keys[token] = browser.run("return sessionStorage.getItem('arcp.page_key');")
        browser.run("sessionStorage.clear();")
        browser.open(place.arcpd.page)
    place.arcpd.write(place.config.replace("{token: tb, principal: bob}", "{token: tz, principal: bob}"))
    place.arcpd.arcp("to", "reload")
    for token, shown in (("ta", "Overview"), ("tb", "Sign in")):
        browser.run("sessionStorage.setItem('arcp.page_key', arguments[0]);", keys[token])
        browser.open(place.arcpd.page)
        browser.wait_text(shown, "h1")


def a_key_of_the_local_operator_survives_a_restart_while_it_may_use_the_socket(place, browser):
    own = "store: 'sqlite:{0}/arcp.db'\ntokens: [{{token: ta, principal: alice}}]\n".format(place.arcpd.directory)
    restart(place, own)  # without agents, so that arcpd's user may use the socket
    browser.open(place.arcpd.local("ui"))
    browser.wait_text("Sign in as local-operator (operator)?", "dialog")
    browser.click("dialog button[type=submit]")
    browser.wait_text("Overview", "h1")
    restart(place)
    browser.wait("return !document.body.classList.contains('stale');", what="the page is live again")
    browser.open(place.arcpd.page)
    browser.wait_text("local-operator", "#who")


def the_demo_shows_a_running_survey_to_a_stranger(place, browser):
    demo = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/survey/demo.sh")
    directory = os.path.dirname(demo)
    environment = {**os.environ, "UI": "1", "ARCP_BIN": place.arcpd.programs, "HOME": place.arcpd.directory}
    with subprocess.Popen([demo, os.path.join(directory, "../..", "tests")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env=environment, text=True) as process:
        browser.open(process.stdout.readline().strip())
        browser.wait_text("Sign in as", "dialog")
        browser.click("dialog button[type=submit]")
        browser.wait_text("Overview", "h1")
        browser.wait_text("running", ".rows")
        browser.run("[...document.querySelectorAll('.rows .row')].find((row) => row.innerText.includes('running')).click();")
        running = browser.wait("return /#\\/job\\/(job_\\w+)/.exec(location.hash)?.[1];", what="the running job is shown")
        browser.wait_text("files", ".rows")
        browser.wait_text("/etc/shadow", ".rows")
        go(browser, f"#/job/{running}/authority")
        browser.wait_text("/etc/shadow", ".tab-body")
        go(browser, f"#/job/{running}/money")
        browser.wait_text("of 1", ".tab-body")
        process.stdin.close()
        check(process.wait(30) == 0, "the demo did not end well")


# ---- views ----

@shared
def the_overview_follows_jobs_as_they_come(place, browser):
    sign_in(browser, place)
    browser.wait_text("No jobs yet")
    job = place.finish()
    browser.wait_text(job[-6:])
    browser.wait_text("success", ".rows")


def a_page_is_told_what_changes_and_asks_for_nothing(place, browser):
    sign_in(browser, place, "to")
    browser.run("window.sent = []; const send = WebSocket.prototype.send; WebSocket.prototype.send = function (text) { sent.push(JSON.parse(text).type); send.call(this, text); };")
    first = place.finish("ta")
    second = place.finish("tb", agent="broken")
    browser.wait_text(first[-6:], ".rows")
    browser.wait_text(second[-6:], ".rows")
    browser.wait("return [...document.querySelectorAll('.rows .row')].filter((row) => /success|error/.test(row.innerText)).length === 2;", what="both have ended")
    sent = browser.run("return sent.filter((type) => !['session.pong', 'session.ack'].includes(type));")
    check(not sent, f"the page has sent {sent}")


def a_role_sees_the_figures_of_each_second(place, browser):
    sign_in(browser, place, "to")
    browser.wait_text("since this arcpd was started at", ".charts")
    check(browser.run("return document.querySelectorAll('.charts svg').length;") == 7, browser.text(".charts"))
    browser.wait_text("healthy", ".charts")
    browser.wait_text("enforcement off", ".charts")
    place.submit(wait=True)
    browser.wait("return /Jobs running or waiting\\s+1/.test(document.querySelector('.charts').innerText);", what="the chart of jobs has the running one")
    browser.wait("return /Spent in this time\\s+0.25 USD/.test(document.querySelector('.charts').innerText);", what="what the job has spent")
    check("sandboxes off" in place.arcpd.arcp("to", "status"), "arcp says something else")
    go(browser, "#/jobs")
    browser.wait_text("1 job", "main")
    browser.run("sessionStorage.clear();")
    sign_in(browser, place)  # without a role there are none
    check(browser.run("return document.querySelector('.charts');") is None, "a principal without a role sees figures")


@shared
def live_events_come_by_subscription(place, browser):
    job = place.submit(wait=True, events=2)
    sign_in(browser, place)
    go(browser, f"#/job/{job}")
    browser.wait_text("event 1", ".rows")
    browser.run("window.sent = []; const send = WebSocket.prototype.send; WebSocket.prototype.send = function (text) { sent.push(JSON.parse(text).type); send.call(this, text); };")
    place.arcpd.arcp(place.token, "cancel", job, "--reason", "enough")
    browser.wait_text("told: enough", ".rows")
    browser.wait_text("CANCELLED", ".rows")
    place.finish(place.token)  # another job's events are not asked for
    events = browser.run("return sent.filter((type) => type === 'x-vendor.arcpd.events').length;")
    check(0 < events < 10, f"{events} requests for events")


@shared
def filters_are_in_the_address(place, browser):
    place.finish()
    place.finish(agent="broken")
    sign_in(browser, place)
    go(browser, "#/jobs")
    browser.wait_text("2 jobs", "main")
    browser.click("input[value=error]")
    browser.wait("return location.hash.includes('status=error');", what="the address has the filter")
    browser.wait_text("1 job", "main")
    check("broken" in browser.text(".rows"), browser.text(".rows"))
    go(browser, "#/jobs?text=no-such-job")
    browser.wait_text("No job matches this filter", "main")


@shared
def jobs_are_found_by_time_and_outcome_and_their_leases_count_down(place, browser):
    place.finish(agent="broken")
    place.arcpd.arcp(place.token, "submit", "work", "--detach", "--expires-in", "1h", "--input", '{"wait": true}')
    sign_in(browser, place)
    go(browser, "#/jobs")
    browser.wait_text("2 jobs", "main")
    browser.wait("return /running[^]* 59 m [0-9]+ s/.test(document.querySelector('.rows').innerText.replaceAll('\\n', ' '));", what="the lease of the running job counts down")
    go(browser, "#/jobs?code=INTERNAL_ERROR&created_after=2026-01-01T00:00:00.000Z")
    browser.wait_text("1 job", "main")
    browser.wait("return document.querySelector('[name=code]').value === 'INTERNAL_ERROR' && /^202[56]-/.test(document.querySelector('[name=created_after]').value);", what="the filter is in the form")
    go(browser, "#/jobs?created_before=2026-01-01T00:00:00.000Z")
    browser.wait_text("No job matches", "main")
    go(browser, "#/jobs?created_after=yesterday")
    browser.wait_text("created_after", "[role=alert]")
    # The focus stays on the control that has changed the filter.
    go(browser, "#/jobs")
    browser.wait_text("2 jobs", "main")
    browser.run("document.querySelector('[value=running]').focus();")
    browser.press(" ")
    browser.wait_text("1 job", "main")
    check(browser.run("const e = document.activeElement; return [e.name, e.value, e.checked];") == ["status", "running", True], "the focus is lost")


@shared
def what_an_agent_wrote_to_standard_error_is_shown_as_text(place, browser):
    job = place.finish(agent="broken")
    other = place.finish(complain="only roles read this")
    sign_in(browser, place)
    go(browser, f"#/job/{job}/stderr")
    browser.wait_text("no such table <b>jobs</b>", ".tab-body pre")
    browser.wait_text("1 line, as of", ".tab-body")
    go(browser, f"#/job/{other}/stderr")
    browser.wait_text("stderr_in_errors", "[role=alert]")


@shared
def a_job_shows_its_log_authority_money_and_result(place, browser):
    job = place.finish(lease=LEASE, read=["/etc/shadow", "/srv/data/a"], text="the text")
    sign_in(browser, place)
    go(browser, f"#/job/{job}")
    browser.wait_text("event 0 the text", ".rows")
    go(browser, f"#/job/{job}/authority")
    browser.wait_text("/srv/data/**", ".tab-body")
    browser.wait_text("/etc/shadow", ".tab-body")
    browser.wait_text("PERMISSION_DENIED", ".tab-body")
    go(browser, f"#/job/{job}/money")
    browser.wait_text("0.25", ".tab-body")
    browser.wait_text("of 2", ".tab-body")
    browser.wait_text("small", ".tab-body")
    go(browser, f"#/job/{job}/result")
    browser.wait_text("all done", ".tab-body")
    check(browser.run("return [...document.querySelectorAll('a')].every((a) => !a.href.startsWith('javascript:'));"), "a link runs code")
    go(browser, f"#/job/{job}/timeline")
    browser.wait("const c = document.querySelector('canvas'); return c && c.width > 0 && c.height > 0;", what="the timeline is drawn")
    go(browser, f"#/job/{job}/input")
    browser.wait_text("the text", ".tab-body")
    go(browser, f"#/job/{job}/tree")
    browser.wait_text("work", ".tree")


@shared
def a_failed_job_says_what_to_do(place, browser):
    job = place.finish(agent="broken")
    place.finish()
    sign_in(browser, place)
    browser.wait("return document.querySelectorAll('.rows .row').length === 2;", what="both jobs are listed")
    texts = browser.run("return [...document.querySelectorAll('.rows .status')].map((e) => e.innerText);")
    check(texts == ["✓ success", "✕ error"], f"a status is shown by its colour only: {texts}")
    go(browser, f"#/job/{job}/result")
    browser.wait_text("INTERNAL_ERROR", ".tab-body")
    browser.wait_text("may succeed when it is submitted again", ".tab-body")


@shared
def a_job_is_ended_after_asking(place, browser):
    job = place.submit(wait=True)
    sign_in(browser, place)
    go(browser, f"#/job/{job}")
    browser.wait_text("running", ".status")
    browser.click(".title .danger")
    browser.wait_text("End this job?", "dialog")
    browser.type("dialog input[name=reason]", "enough of it")
    browser.click("dialog button[type=submit]")
    browser.wait_text("cancelled", ".status")
    browser.wait_text("told: enough of it", ".rows")


@shared
def a_job_is_submitted_with_a_lease(place, browser):
    sign_in(browser, place)
    go(browser, "#/submit")
    browser.wait_text("Submit a job", "h1")
    browser.type("input[name=agent]", "work")
    browser.type("textarea[name=input]", "{\"text\": 1")
    browser.click("form button[type=submit]")
    browser.wait_text("The input is not JSON", "textarea ~ p, .field .bad:not([hidden])")
    browser.type("textarea[name=input]", "}")
    browser.click(".lease-lines + button")
    browser.type("input[name=capability]", "fs.read")
    browser.type("input[name=pattern]", "/srv/**")
    browser.type("input[name=budget]", "USD:1")
    browser.click("form button[type=submit]")
    browser.wait("return location.hash.startsWith('#/job/');", what="the job is shown")
    browser.wait_text("success", ".status")


def an_operator_sees_the_jobs_of_all_principals(place, browser):
    place.finish("ta")
    place.finish("tb")
    sign_in(browser, place, "to")
    go(browser, "#/jobs")
    browser.wait_text("2 jobs", "main")
    check("alice" in browser.text(".rows") and "bob" in browser.text(".rows"), browser.text(".rows"))
    go(browser, "#/audit")
    browser.wait_text("authentication", "main")


@shared
def keys_move_in_tables_and_open_rows(place, browser):
    first = place.finish()
    place.finish()
    sign_in(browser, place)
    go(browser, "#/jobs")
    browser.wait_text("2 jobs", "main")
    browser.run("document.activeElement.blur();")
    browser.press("j")
    browser.press("j", "j")
    browser.press("\ue007")
    browser.wait("return location.hash === arguments[0];", f"#/job/{first}", what="Enter opens the second row")
    browser.press("?")
    browser.wait_text("Keys", "dialog")


# ---- under load ----

@shared
def a_long_log_has_few_rows_on_the_page(place, browser):
    job = place.finish(events=2500, text="here")
    sign_in(browser, place)
    go(browser, f"#/job/{job}")
    browser.wait_text("job.result", ".rows")
    browser.wait("const s = document.querySelector('.tab-body .scroller'); s.scrollTop = 0; return s.innerText.includes('event 0 here');",
                 what="the beginning of the log", seconds=60)
    rows = browser.run("return document.querySelectorAll('.tab-body .rows .row').length;")
    check(rows < 100, f"{rows} rows are on the page")


@shared
def ten_thousand_live_events_are_shown_without_a_gap(place, browser):
    job = place.submit(wait=True, then=10000)
    sign_in(browser, place)
    go(browser, f"#/job/{job}")
    browser.wait_text("artifact_ref", ".rows")
    place.arcpd.arcp(place.token, "cancel", job, "--reason", "go on")
    browser.wait("return document.querySelector('.tab-body').innerText.includes('job.error');", what="the end of the job", seconds=60)
    before = browser.run("return /of ([\\d,]+) events/.exec(document.querySelector('.tab-body').innerText)[1];")
    shown = int(before.replace(",", ""))
    listed = place.arcpd.arcp(place.token, "logs", job).count("live ")
    check(listed == 10000 and shown > listed, f"arcp lists {listed} live events, and the page has {shown} events in all")
    browser.wait("const s = document.querySelector('.tab-body .scroller'); s.scrollTop = s.scrollHeight; return s.innerText.includes('live 9999');", what="the last event")


# ---- attacks ----

@shared
def hostile_texts_stay_texts(place, browser):
    lease = {"tool.call": [HOSTILE.replace("*", "")[:60].replace("\u001b", "").replace("\u202e", "")], "fs.read": ["/srv/<b>x</b>/**"]}
    job = place.finish(lease=lease, text=HOSTILE, read=["/" + HOSTILE.replace("\u001b", "")])
    sign_in(browser, place)
    browser.run("window.violations = []; document.addEventListener('securitypolicyviolation', (e) => violations.push(e.violatedDirective));")
    for view in ("jobs", "agents", *(f"job/{job}/{tab}" for tab in ("log", "authority", "result", "tree"))):
        go(browser, f"#/{view}")
        browser.wait("return document.querySelector('main').innerText.length > 20;", what=f"the view {view}")
        found = browser.run("return [document.title, document.querySelectorAll('main img, main script, main b:not(.json b), main iframe').length, violations.length];")
        check("owned" not in found[0] and found[1] == 0 and found[2] == 0, f"{view}: {found}")
    go(browser, f"#/job/{job}/log")
    browser.wait_text("\\u{202e}", ".rows")
    check("\u202e" not in browser.text() and "\u001b" not in browser.text(), "invisible characters are shown as they are")
    violations = [line for line in browser.log() if "Content Security Policy" in line or "Uncaught" in line]
    check(not violations, f"the console has {violations}")


@shared
def other_names_and_pages_are_refused(place, browser):
    status, headers, _ = get(place.arcpd.page)
    check(status == 200 and "unsafe" not in headers["Content-Security-Policy"] and "Set-Cookie" not in headers, str(headers))
    check(get(place.arcpd.page, Host="evil.example")[0] == 403, "a Host that is not ours is served")
    check(get(place.arcpd.page, Origin="http://evil.example")[0] == 403, "a page of another origin is served")
    browser.open("data:text/html,<iframe src='" + place.arcpd.page + "'></iframe>")
    browser.command("POST", "/frame", {"id": 0})
    shown = browser.run("return document.body.innerText + location.protocol;")
    browser.command("POST", "/frame", {"id": None})
    check("Sign in" not in shown and "http:" not in shown, f"the page is shown in a frame: {shown}")


@shared
def a_page_of_another_origin_opens_no_websocket(place, browser):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            browser.open(f"http://127.0.0.1:{server.server_port}/")
            result = browser.run_async("const done = arguments[1]; const s = new WebSocket(arguments[0]); s.onopen = () => done('open'); s.onerror = () => done('refused');",
                                       place.arcpd.url)
            check(result == "refused", "a page of another origin has a connection")
            fetched = browser.run_async("const done = arguments[1]; fetch(arguments[0]).then(() => done('read'), () => done('refused'));", place.arcpd.page)
            check(fetched == "refused", "a page of another origin reads the page")
            browser.log()
        finally:
            server.shutdown()
            thread.join()


CASES = (cases_operate, cases_connection, cases_access, cases_bounds, cases_attack)


class Other(http.server.BaseHTTPRequestHandler):
    """A site that is not arcpd's."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>other</title>")

    def log_message(self, *_):
        pass


def tests():
    """The functions of this file and of the cases that take a place and a browser, in their order."""
    values = [*globals().values(), *(value for cases in CASES for value in vars(cases).values())]
    return [value for value in values if inspect.isfunction(value) and list(inspect.signature(value).parameters) == ["place", "browser"]]


def main():
    words = sys.argv[1:]
    screenshots = None
    if "--screenshots" in words:
        at = words.index("--screenshots")
        screenshots = words[at + 1]
        del words[at:at + 2]
    programs, names = os.path.abspath(words[0]), words[1:]
    if not is_installed():
        print("not run: Debian's chromium and chromium-driver are missing (tools/install-deps.sh --browser)")
        return 1 if os.environ.get("CI") else 77
    if screenshots:
        import pictures
        return pictures.take(programs, screenshots, Place)
    failed = 0
    common = Place(programs)
    own = None
    with Browser(1000, 640) as browser:
        for test in tests():
            name = test.__name__
            if names and not any(part in name for part in names):
                continue
            is_shared = getattr(test, "is_shared", False)
            own = own if is_shared else Place(programs, own)
            place = common if is_shared else own
            try:
                if is_shared:
                    place.next_principal()
                test(place, browser)
                print(f"ok   {name}", flush=True)
            except (Failed, RuntimeError) as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
            finally:
                if not is_shared:
                    leave(browser)
                    place.arcpd.close()
    common.arcpd.close()
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
