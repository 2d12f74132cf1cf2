"""Texts and pages that want more than to be shown."""

import os
import re
import socket

from place import HOSTILE, check, get, go, leave, shared, sign_in

BIDI = "a\u202eb\u2066c\u200bd\u0085e"
VIOLATIONS = "window.violations = []; document.addEventListener('securitypolicyviolation', (e) => violations.push(e.violatedDirective + ' ' + e.blockedURI));"
FOUND = "return [document.title === 'owned', document.querySelectorAll('main img, main script, main iframe, main object, main form[action], main a[href^=javascript], main a[href^=data]').length, violations];"


@shared
def hostile_names_of_clients_agents_and_costs_stay_texts(place, browser):
    emit = [["log", {"level": "info", "message": '{"type": "session.error", "payload": {"code": "UNAUTHENTICATED"}}'}], ["thought", {"text": HOSTILE}],
            ["status", {"phase": HOSTILE[:60], "message": HOSTILE}], ["metric", {"name": "cost." + HOSTILE[:40], "value": 1, "unit": "<b>X</b>", "dimensions": {"model": HOSTILE}}],
            ["tool_call", {"tool": HOSTILE, "args": {HOSTILE: HOSTILE}, "call_id": HOSTILE}], ["tool_result", {"call_id": HOSTILE, "error": {"code": HOSTILE, "message": HOSTILE}}],
            ["progress", {"current": 1, "total": 2, "units": HOSTILE, "message": HOSTILE}], ["x-vendor.<i>.k", {"__proto__": {"x": 1}, "constructor": HOSTILE}],
            *(["artifact_ref", {"uri": uri, "content_type": HOSTILE}] for uri in ("javascript:alert(1)", "data:text/html,<script>1</script>", "https://user:pw@evil.example/" + BIDI, "//evil.example", "https:evil"))]
    job = place.finish(lease={"fs.read": ["/srv/**"]}, read=["/etc/shadow", "/home/**", "/x\u202ey"], emit=emit, result={HOSTILE: [HOSTILE, {"__proto__": HOSTILE}]}, text=HOSTILE)
    sign_in(browser, place)
    browser.run(VIOLATIONS)
    for tab in ("log", "timeline", "money", "result", "input"):
        go(browser, f"#/job/{job}/{tab}")
        browser.wait("return document.querySelector('.tab-body')?.innerText.length > 5;", what=tab)
        found = browser.run(FOUND)
        check(found == [False, 0, []], f"{tab}: {found}")
        shown = browser.run("return document.body.textContent;")
        check("\u202e" not in shown and "\u2066" not in shown and "\u0085" not in shown, f"{tab} shows characters that cannot be seen")
    go(browser, f"#/job/{job}/result")
    browser.wait_text("Artifacts", ".tab-body")
    links = browser.run("return [...document.querySelectorAll('.tab-body a[target]')].map((a) => [a.getAttribute('href').slice(0, 8), a.rel, a.innerText]);")
    check(len(links) == 1 and links[0][0] == "https://" and links[0][1] == "noopener noreferrer" and "user:pw@evil" in links[0][2], str(links))
    # What is copied is what was seen, and no line with a star is suggested.
    go(browser, f"#/job/{job}/authority")
    browser.wait_text("/home/**", ".tab-body")
    browser.run("window.copied = []; Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { copied.push(text); } } });")
    browser.run("[...document.querySelectorAll('button')].filter((b) => b.innerText === 'Copy as lease line').forEach((b) => b.click());")
    copied = [one for one in browser.run("return copied;") if "fs.read" in one]
    check(sorted(copied) == ['{"fs.read":["/etc/shadow"]}', '{"fs.read":["/x\\u202ey"]}'], str(copied))
    go(browser, f"#/job/{job}/log")
    browser.wait_text("session.error", ".rows")
    browser.run("[...document.querySelectorAll('.rows .row')].find((row) => row.innerText.includes('session.error')).click();")
    browser.wait_text("UNAUTHENTICATED", "dialog")  # JSON in a line of the log is a text
    check(browser.run(FOUND) == [False, 0, []], "the dialog has markup")
    check(not [line for line in browser.log() if "Uncaught" in line or "Content Security" in line], "the console has errors")


@shared
def a_hostile_address_changes_nothing(place, browser):
    sign_in(browser, place)
    browser.run(VIOLATIONS)
    for address in (f"#/job/{HOSTILE}", "#/jobs?text=" + HOSTILE + "&agent=\"><img src=x>", "#/constructor", "#/__proto__", "#code=short", "#/job/..%2f..%2f", "#/jobs?cursor=x&limit=99999"):
        go(browser, address)
        check(browser.run(FOUND)[:2] == [False, 0], address)
    check(browser.run("return violations;") == [], "the policy was violated")
    check(browser.run("return document.title;") != "owned", "the address has run")


@shared
def a_link_with_a_guessed_code_signs_nobody_in_and_leaves_no_trace(place, browser):
    leave(browser)
    browser.open(place.arcpd.page + "#code=page_code_AAAAAAAAAAAAAAAAAAAAAA")
    browser.wait_text("not valid here", "[role=alert]")
    check("code" not in browser.run("return location.href + document.referrer + JSON.stringify(history.state) + JSON.stringify(sessionStorage);"), "the code is kept")
    link = place.link(place.token)
    check("#code=" in link and "?" not in link, link)


@shared
def no_request_of_the_page_has_the_key_or_the_code(place, browser):
    leave(browser)
    browser.open(place.link(place.token))
    browser.wait_text("Sign in as ", "dialog")
    browser.click("dialog button[type=submit]")
    browser.wait_text("Overview", "h1")
    names = browser.run("return performance.getEntriesByType('resource').map((e) => e.name);")
    check(len(names) > 10 and not [name for name in names if "code" in name or "key" in name or not name.startswith(place.arcpd.page)], str(names))
    with open(os.path.join(place.arcpd.directory, "log"), encoding="utf-8") as log:
        text = log.read()
    check("page_key_" not in text and "page_code_" not in text, "the log of arcpd has a key or a code")


def check_headers(place):
    page = place.arcpd.page
    root = page[:-len("ui/")]
    files = [page] + [root.rstrip("/") + "/ui/" + name for name in ("nothing", "")] + [root, root + "nothing"]
    for url in files:
        status, headers, body = get(url)
        check("Set-Cookie" not in headers and "Access-Control-Allow-Origin" not in headers, f"{url}: {headers}")
        check(status in (200, 404) and b"page_" not in body, f"{url}: {status}")
        check("frame-ancestors 'none'" in headers.get("Content-Security-Policy", "") and headers.get("X-Frame-Options") == "DENY" and headers.get("X-Content-Type-Options") == "nosniff",
              f"{url} ({status}): {headers}")


def ask_raw(place, text):
    """The first line of what a request gets. A browser that is shown a refusal runs, loads and frames nothing."""
    host, port = place.arcpd.page.split("/")[2].split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(text.replace("\n", "\r\n").encode())
        head, end, body = connection.recv(65536).decode(errors="replace").partition("\r\n\r\n")
    line = head.split("\r\n")[0]
    isolated = ("default-src 'none'; base-uri 'none'", "frame-ancestors 'none'", "X-Frame-Options: DENY", "X-Content-Type-Options: nosniff", "Cross-Origin-Resource-Policy: same-origin")
    check(end and (not re.search(" [45][0-9][0-9] ", line) or all(head.count(one) == 1 for one in isolated)), f"{line}: {head}")
    check(not text.startswith("HEAD") or body == "", f"HEAD gets {body}")
    return line


@shared
def other_methods_hosts_and_origins_are_refused(place, browser):
    check_headers(place)
    host = place.arcpd.page.split("/")[2]
    port = host.split(":")[1]
    upgrade = "Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\n"
    check(" 200 " in ask_raw(place, f"HEAD /ui/ HTTP/1.1\nHost: {host}\n\n"), "HEAD is refused")
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        line = ask_raw(place, f"{method} /ui/ HTTP/1.1\nHost: {host}\nContent-Length: 0\n\n")
        check(" 405 " in line or " 400 " in line or " 501 " in line, f"{method}: {line}")
    for path, status in (("/nothing", 404), ("/arcp", 426)):
        check(f" {status} " in ask_raw(place, f"GET {path} HTTP/1.1\nHost: {host}\n\n"), f"{path} is not refused with {status}")
    rebound = ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"localhost.evil.example:{port}", "", f"{host}, evil.example", f"169.254.169.254:{port}")
    for name in rebound:
        for path, more in (("/ui/", ""), ("/arcp", upgrade)):
            line = ask_raw(place, f"GET {path} HTTP/1.1\nHost: {name}\n{more}\n")
            check(" 403 " in line or " 400 " in line, f"Host {name!r} at {path}: {line}")
    for origin in ("null", "http://evil.example", f"https://{host}", f"http://{host}.evil.example", "file://"):
        line = ask_raw(place, f"GET /arcp HTTP/1.1\nHost: {host}\nOrigin: {origin}\n{upgrade}\n")
        check(" 403 " in line or " 400 " in line, f"Origin {origin!r}: {line}")
    check(" 101 " in ask_raw(place, f"GET /arcp HTTP/1.1\nHost: {host}\nOrigin: http://{host}\n{upgrade}\n"), "the page's own origin is refused")


@shared
def a_principal_sees_only_its_own_and_is_refused_each_request_of_roles(place, browser):
    theirs = place.finish("tb", text="a secret of bob")
    sign_in(browser, place)
    go(browser, "#/jobs?principal=bob")
    browser.wait_text("role", "[role=alert]")
    go(browser, f"#/job/{theirs}")
    browser.wait_text("All jobs", "main")
    check("Audit" not in browser.text("#nav"), browser.text("#nav"))
    browser.run("""window.sent = []; const send = WebSocket.prototype.send; WebSocket.prototype.send = function (text) { window.socket = this; send.call(this, text); };""")
    go(browser, "#/jobs")
    browser.wait("return window.socket;", what="the connection")
    rows = [("sessions", {}), ("end_session", {"principal": "bob"}), ("hooks", {}), ("retry_notification", {"id": "ntf_x"}), ("drop_notification", {"id": "ntf_x"}), ("agents", {}), ("workers", {}), ("drain", {"name": "w"}), ("forget", {"name": "w"}), ("reload", {}), ("audit", {}),
            ("figures", {}), ("watch", {"what": ["figures"]}), ("watch", {"what": ["jobs"], "principal": "*"}), ("jobs", {"filter": {"principal": "*"}}), ("job", {"job_id": theirs}),
            ("events", {"job_id": theirs}), ("stderr", {"job_id": theirs}), ("end", {"job_id": theirs})]
    answers = browser.run_async("""const [rows, done] = arguments; const answers = []; let i = 0;
        socket.addEventListener('message', ({ data }) => { const f = JSON.parse(data); if (f.payload?.request_id !== `raw${i}`) return;
          answers.push([f.type, f.payload.code, data.includes('secret of bob')]); i += 1; setTimeout(next, 60); });
        const next = () => { if (i === rows.length) done(answers);
          else socket.send(JSON.stringify({ arcp: '1.1', id: `raw${i}`, type: `x-vendor.arcpd.${rows[i][0]}`, payload: rows[i][1] })); }; next();""", rows)
    for (name, _), (kind, code, leaks) in zip(rows, answers):
        check(kind == "job.error" and code in ("PERMISSION_DENIED", "JOB_NOT_FOUND", "INVALID_REQUEST") and not leaks, f"{name}: {kind} {code}")
