"""Pictures of each view for the documentation: light, dark, and on a narrow screen."""

import os

from webdriver import Browser

LEASE = {"fs.read": ["/srv/reports/**"], "net.fetch": ["https://api.example.com/v1/**"], "tool.call": ["web.*"], "model.use": ["small"], "cost.budget": ["USD:2"]}
SCREENS = [("light", 1280, 800, False), ("dark", 1280, 800, True), ("narrow", 360, 740, False)]


def fill(place):
    """Jobs of several kinds, as a day has them. Returns the one whose views are shown."""
    for i in range(6):
        place.finish(("ta", "tb")[i % 2], lease=LEASE, events=2 + i, text="quarterly numbers")
    place.finish("tb", agent="broken")
    place.finish(agent="hello")
    place.submit(lease=LEASE, wait=True, events=4)
    return place.finish(lease=LEASE, read=["/srv/reports/q3.csv", "/etc/shadow"], events=12, text="quarterly numbers")


def take(programs, directory, make_place):
    os.makedirs(directory, exist_ok=True)
    place = make_place(programs)
    try:
        job = fill(place)
        views = {"overview": "#/", "jobs": "#/jobs", "agents": "#/agents", "submit": "#/submit", "audit": "#/audit",
                 **{f"job-{tab}": f"#/job/{job}/{tab}" for tab in ("log", "timeline", "authority", "money", "result", "input", "tree")}}
        for screen, width, height, dark in SCREENS:
            with Browser(width, height, dark) as browser:
                browser.narrow(width, height)
                browser.open(place.arcpd.page)
                browser.wait_text("Sign in", "h1")
                browser.screenshot(os.path.join(directory, f"signin-{screen}.png"))
                browser.type("#token", "to")
                browser.click("button[type=submit]")
                browser.wait_text("Overview", "h1")
                for name, address in views.items():
                    browser.run("location.hash = arguments[0];", address)
                    browser.wait("return document.querySelector('main').innerText.length > 40 && !document.querySelector('main').innerText.includes('Loading');", what=name)
                    browser.settle()
                    browser.screenshot(os.path.join(directory, f"{name}-{screen}.png"))
    finally:
        place.arcpd.close()
    return 0
