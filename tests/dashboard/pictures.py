"""Each view of the dashboard in turn: for pictures, and for whoever else looks at all of them.

    tests/dashboard/browser_test.py PROGRAMS --screenshots DIRECTORY

docs/dashboard has them, made smaller by ImageMagick. Some are whole: convert FROM.png +dither -colors 64 -define png:compression-level=9 TO.png
Each view is there with its three screens beside each other, 340 pixels high:
convert '(' V-light.png -resize x340 ')' '(' V-dark.png -resize x340 ')' '(' V-narrow.png -resize x340 ')' +append +dither -colors 32 view-V.png
"""

import contextlib
import os

from place import Worker, restart, with_workers
from webdriver import Browser

LEASE = {"fs.read": ["/srv/reports/**"], "net.fetch": ["https://api.example.com/v1/**"], "tool.call": ["web.*"], "model.use": ["small"], "cost.budget": ["USD:2"]}
MORE = """
hooks:
  - {name: pager, on: [end], agent: broken, command: ["false"]}
schedules:
  - {name: nightly, cron: "30 2 * * *", agent: hello, principal: alice, lease: {}}
  - {name: hourly, cron: "@hourly", agent: hello, principal: bob, lease: {}}
"""
FORM = """
document.querySelector('[name=agent]').value = 'work';
for (const [capability, patterns] of Object.entries(arguments[0])) {
  if (capability === 'cost.budget') { document.querySelector('[name=budget]').value = patterns[0]; continue; }
  document.querySelector('.lease-lines + button').click();
  [...document.querySelectorAll('[name=capability]')].at(-1).value = capability;
  [...document.querySelectorAll('[name=pattern]')].at(-1).value = patterns[0];
}
document.querySelector('form').dispatchEvent(new Event('input', { bubbles: true }));"""
SCREENS = [("light", 1280, 800, False), ("dark", 1280, 800, True), ("narrow", 360, 740, False)]
TABS = ("log", "timeline", "authority", "money", "result", "input", "stderr", "tree")


@contextlib.contextmanager
def filled(place):
    """Jobs of several kinds, as a day has them, in sandboxes, and workers. Gives the job whose views are shown."""
    restart(place, with_workers(place.config.replace("enforce: {mode: off}", "") + MORE))
    with Worker(place, "gpu-1"):
        with Worker(place, "gpu-2", leaves_arcpd=True):
            pass  # it is away
        for i in range(6):
            place.finish(("ta", "tb")[i % 2], lease=LEASE, events=2 + i, text="quarterly numbers")
        place.finish("tb", agent="broken")
        place.finish(agent="hello")
        place.submit(lease=LEASE, wait=True, events=4)
        place.submit(agent="train")
        yield place.finish(lease=LEASE, read=["/srv/reports/q3.csv", "/etc/shadow"], events=12, text="quarterly numbers")


def walk(place, browser, job):
    """Yields the name of each view when it is shown, beginning with the one that asks for a token."""
    views = {"overview": "#/", "jobs": "#/jobs", "agents": "#/agents", "submit": "#/submit", "schedules": "#/schedules", "sessions": "#/sessions",
             "workers": "#/workers", "hooks": "#/hooks", "audit": "#/audit",
             **{f"job-{tab}": f"#/job/{job}/{tab}" for tab in TABS}}
    browser.open(place.arcpd.page)
    browser.wait_text("Sign in", "h1")
    yield "signin"
    browser.type("#token", "to")
    browser.click("button[type=submit]")
    browser.wait_text("Overview", "h1")
    for name, address in views.items():
        browser.run("location.hash = arguments[0];", address)
        browser.wait("return document.querySelector('main').innerText.length > 40 && !document.querySelector('main').innerText.includes('Loading');", what=name)
        if name == "submit":
            browser.run(FORM, LEASE)
            browser.wait_text("The job would", ".worth")
        browser.settle()
        yield name
    browser.run("document.activeElement.blur();")
    browser.press("?")
    browser.wait_text("Keys", "dialog")
    yield "keys"


def take(programs, directory, make_place):
    os.makedirs(directory, exist_ok=True)
    place = make_place(programs)
    try:
        with filled(place) as job:
            for screen, width, height, dark in SCREENS:
                with Browser(width, height, dark) as browser:
                    browser.narrow(width, height)
                    for name in walk(place, browser, job):
                        browser.screenshot(os.path.join(directory, f"{name}-{screen}.png"))
    finally:
        place.arcpd.close()
    return 0
