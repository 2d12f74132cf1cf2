"""The page for those who use a keyboard, a screen reader, a narrow screen, large letters, or none that move."""

from place import LEASE, check, go, leave, shared, sign_in

TAB, ENTER, ESCAPE = "\ue004", "\ue007", "\ue00c"
VIEWS = ("", "jobs", "submit", "agents", "schedules", "sessions", "workers", "hooks", "audit")
JOB_TABS = ("log", "timeline", "authority", "money", "result", "input", "stderr", "tree")

# Names of everything that can be used, and what is wrong with those that have none.
NAMES = """
const nameOf = (e) => (e.getAttribute('aria-label') || [...(e.labels ?? [])].map((l) => l.innerText).join(' ') || e.innerText || e.title || e.querySelector('img')?.alt || '').trim();
return [[...document.querySelectorAll('a, button, input, select, textarea, [role=grid], [role=region], [role=img], canvas, dialog[open], nav')]
  .filter((e) => !e.closest('[hidden]') && !(e.closest('dialog') && !e.closest('dialog').open) && nameOf(e) === '' && !e.closest('[aria-hidden=true]')).map((e) => e.outerHTML.slice(0, 100)),
  document.querySelectorAll('h1').length];"""
WIDE = "return [document.documentElement.scrollWidth - document.documentElement.clientWidth, [...document.querySelectorAll('body *')].find((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll-x, .scroller, #nav, .skip'))?.outerHTML.slice(0, 120)];"


@shared
def every_view_names_its_controls_and_fits_360_pixels_and_a_zoom_of_200_percent(place, browser):
    job = place.finish(lease=LEASE, read=["/etc/shadow"], text="x" * 200)
    sign_in(browser, place, "to")
    try:
        for address in [f"#/{view}" for view in VIEWS] + [f"#/job/{job}/{tab}" for tab in JOB_TABS]:
            browser.narrow(1280, 800)
            go(browser, address)
            browser.wait("const m = document.querySelector('main'); return m.innerText.length > 20 && m.querySelector('h1') && !m.innerText.includes('Loading');", what=address)
            nameless, headings = browser.run(NAMES)
            check(not nameless and headings == 1, f"{address}: {nameless}, {headings} headings")
            for width, height in ((640, 400), (360, 640)):  # 1280 pixels at 200 % are 640
                browser.narrow(width, height)
                over, element = browser.run(WIDE)
                check(over <= 0 and element is None, f"{address} at {width} pixels: {over} too wide, {element}")
    finally:
        browser.command("POST", "/goog/cdp/execute", {"cmd": "Emulation.clearDeviceMetricsOverride", "params": {}})


@shared
def a_job_is_found_opened_and_ended_by_keyboard_alone(place, browser):
    job = place.submit(wait=True)
    leave(browser)
    browser.open(place.arcpd.page)
    browser.wait_text("Sign in", "h1")
    browser.press(*place.token, ENTER)  # the field has the focus
    browser.wait_text("Overview", "h1")
    browser.run("document.activeElement.blur();")
    browser.press("g", "j")
    browser.wait_text("1 job", "main")
    check(browser.run("return document.activeElement.innerText;") == "Jobs", "a new view does not get the focus")
    browser.press("j", "j", ENTER)
    browser.wait("return location.hash === arguments[0];", f"#/job/{job}", what="Enter opens the job")
    browser.wait_text("running", ".status")
    facts = browser.run("document.querySelector('.title .danger').focus(); return document.querySelector('.facts').innerText;")
    browser.wait("return document.querySelector('.facts').innerText !== arguments[0];", facts, what="the time that passes is shown")
    check(browser.run("return document.activeElement.matches('.title .danger');"), "the button loses the focus while the time passes")
    browser.press(ENTER)
    browser.wait_text("End this job?", "dialog")
    check(browser.run("return document.querySelector('dialog').contains(document.activeElement);"), "the focus is not in the dialog")
    browser.press(ESCAPE)
    browser.wait("return !document.querySelector('dialog').open && document.activeElement.matches('.title .danger');", what="Escape closes the dialog, and the focus is where it was")
    browser.press(ENTER)
    browser.wait_text("End this job?", "dialog")
    browser.press(*"done", ENTER)
    browser.wait_text("cancelled", ".title .status")
    # From the top, Tab leads past the navigation, or by one step to the content.
    browser.command("POST", "/refresh", {})
    browser.wait_text("cancelled", ".title .status")
    browser.press(TAB)
    check(browser.run("return document.activeElement.className;") == "skip", "the first stop does not skip the navigation")
    seen = set()
    for _ in range(40):
        browser.press(TAB)
        seen.add(browser.run("const e = document.activeElement; const s = getComputedStyle(e); return [e.tagName, s.outlineStyle !== 'none' || e.tagName === 'BODY'].join();"))
    check("DIV,true" in seen and not [one for one in seen if one.endswith("false")], f"stops without an outline, or no table: {seen}")


def a_screen_reader_is_told_what_changes_and_no_more(place, browser):
    sign_in(browser, place)
    go(browser, "#/jobs")
    browser.wait_text("No jobs yet", "main")
    browser.run("""window.said = []; new MutationObserver((all) => all.forEach(({ target }) => {
        const live = (target.nodeType === 1 ? target : target.parentElement)?.closest('[role=status], [role=alert], [aria-live]');
        if (live) said.push(live.innerText); })).observe(document.body, { childList: true, characterData: true, subtree: true });""")
    place.finish()
    browser.wait_text("success", ".rows")
    browser.wait_text("1 job", "main [role=status]")
    said = browser.run("return said;")
    check(set(said) <= {"1 job", ""}, f"said: {said}")
    grid = browser.run("const g = document.querySelector('[role=grid]'); return [g.getAttribute('aria-rowcount'), g.getAttribute('aria-label'), g.querySelectorAll('[role=row]').length, g.querySelectorAll('[role=columnheader]').length > 5];")
    check(grid == ["2", "Jobs", 2, True], str(grid))
    place.arcpd.kill()
    browser.wait("return said.some((text) => text.includes('connection to arcpd is lost'));", what="the loss of the connection is said")
    place.arcpd.start()


@shared
def the_page_follows_what_the_reader_prefers(place, browser):
    sign_in(browser, place)
    colours = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color].join();"
    moving = "document.body.classList.add('stale'); const s = getComputedStyle(document.querySelector('main')); document.body.classList.remove('stale'); return s.transitionDuration;"
    try:
        browser.prefer(prefers_color_scheme="light")
        light = browser.run(colours)
        browser.prefer(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
        check(browser.run(colours) != light, "dark and light have the same colours")
        still = browser.run("""document.body.classList.add('stale'); const all = [...document.querySelectorAll('*')].filter((e) => { const s = getComputedStyle(e);
            return s.animationName !== 'none' || parseFloat(s.transitionDuration) > 0; }).length; document.body.classList.remove('stale'); return all;""")
        check(still == 0, f"{still} elements move although the reader wants none to")
        check(browser.run(moving) == "0s", "the page fades although the reader wants nothing to move")
    finally:
        browser.prefer()


