"""Keys, tabs and addresses: what happens while the page is open, and when it is left and opened again."""

from place import check, go, shared, sign_in

KEY = "return sessionStorage.getItem('arcp.page_key');"


def tabs(browser):
    return browser.command("GET", "/window/handles")


def switch(browser, tab):
    browser.command("POST", "/window", {"handle": tab})


def a_key_that_ends_while_the_page_is_open_asks_to_sign_in_and_returns(place, browser):
    job = place.finish(text="quarterly")
    sign_in(browser, place)
    go(browser, f"#/job/{job}/input")
    browser.wait_text("quarterly", ".tab-body")
    place.arcpd.arcp("to", "sessions", "end", "--principal", "alice")
    browser.wait_text("has ended", "[role=alert]")
    check(browser.run(KEY) is None and "quarterly" not in browser.text(), "the page keeps what it showed")
    browser.type("#token", "ta")
    browser.click("button[type=submit]")
    browser.wait_text("quarterly", ".tab-body")  # the same view


def a_role_that_is_removed_while_the_page_is_open_ends_what_it_showed(place, browser):
    place.finish("tb", text="of bob")
    sign_in(browser, place, "to")
    go(browser, "#/jobs")
    browser.wait_text("bob", ".rows")
    place.arcpd.write(place.config.replace(", role: operator", ""))
    place.arcpd.arcp("to", "reload")
    browser.wait_text("Sign in", "h1")
    check("bob" not in browser.text(), "the jobs of others are still shown")
    browser.type("#token", "to")
    browser.click("button[type=submit]")
    browser.wait_text("olga", "#who")
    check("operator" not in browser.text("#who") and "Sessions" not in browser.text("#nav") and "bob" not in browser.text("main"), browser.text())


@shared
def a_tab_has_its_own_key_and_signing_out_ends_that_of_each_copy(place, browser):
    first = tabs(browser)[0]
    sign_in(browser, place)
    key = browser.run(KEY)
    browser.open_tab()
    try:
        browser.open(place.arcpd.page)
        browser.wait_text("Sign in", "h1")  # sessionStorage is that of a tab
        check(browser.run(KEY) is None, "another tab has the key")
        browser.run("sessionStorage.setItem('arcp.page_key', arguments[0]);", key)
        browser.open(place.arcpd.page)
        browser.wait_text(place.principal, "#who")
        job = place.finish()
        browser.wait_text(job[-6:], ".rows")
        browser.click("#who button")
        browser.wait_text("Sign in", "h1")
    finally:
        browser.command("DELETE", "/window")
        switch(browser, first)
    browser.command("POST", "/refresh", {})
    browser.wait_text("has ended", "[role=alert]")
    check(browser.run(KEY) is None, "the other tab keeps a key that has ended")


@shared
def addresses_lead_back_and_can_be_shared(place, browser):
    job = place.finish()
    place.finish(agent="broken")
    sign_in(browser, place)
    for address, text in (("#/jobs?status=error", "1 job"), (f"#/job/{job}/authority", "The lease has no expiry"), (f"#/job/{job}/result", "all done")):
        go(browser, address)
        browser.wait_text(text, "main")
    browser.run("history.back();")
    browser.wait_text("The lease has no expiry", "main")
    browser.run("history.back();")
    browser.wait_text("1 job", "main")
    check(browser.run("return document.querySelector('input[value=error]').checked;"), "the filter of the address is not in the form")
    browser.run("history.forward();")
    browser.wait_text("The lease has no expiry", "main")
    address = browser.run("return location.href;")
    check("key" not in address and place.token not in address.split("#")[0].rsplit("/", 1)[1], address)
    browser.command("POST", "/refresh", {})
    browser.wait_text("The lease has no expiry", "main")
    browser.run("sessionStorage.clear();")
    browser.open("about:blank")
    browser.open(address)  # as one who was sent it
    browser.wait_text("Sign in", "h1")
    browser.type("#token", place.token)
    browser.click("button[type=submit]")
    browser.wait_text("The lease has no expiry", "main")
    for strange in ("#/job/%zz", "#/job/", "#/nothing", "#/job/a/b/c?d=%", "#/jobs?status=<b>&agent=%00&parent=*"):
        go(browser, strange)
        browser.wait("return document.querySelector('main').innerText.length > 5 && !document.querySelector('main').innerText.includes('Loading');", what=strange)
    check(not [line for line in browser.log() if "Uncaught" in line], "an address makes the page fail")
