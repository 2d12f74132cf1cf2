"""A browser for tests: Debian's chromium, driven by chromedriver over WebDriver's HTTP (https://www.w3.org/TR/webdriver2/)."""

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

DRIVER = "/usr/bin/chromedriver"
BROWSER = "/usr/bin/chromium"
SCRIPT_TIMEOUT_MS = 50000
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def is_installed():
    return shutil.which(DRIVER) is not None and shutil.which(BROWSER) is not None


class Failed(Exception):
    """A command that the browser refused, or a condition that did not become true."""


class Browser:
    """One headless browser with a profile of its own. Use it in a `with` statement."""

    def __init__(self, width=1280, height=900, dark=False):
        self.profile = tempfile.mkdtemp(prefix="arcp-browser-")
        self.driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = "http://127.0.0.1:" + self._port()
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
                     # Processes of their own, for each site and for drawing, cost more than what they show.
                     "--renderer-process-limit=1", "--disable-site-isolation-trials", "--in-process-gpu",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-device-scale-factor=1",
                     f"--user-data-dir={self.profile}", f"--window-size={width},{height}"]
        if dark:
            arguments.append("--blink-settings=preferredColorScheme=0")
        capabilities = {"alwaysMatch": {"goog:chromeOptions": {"binary": BROWSER, "args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}}
        self.session = self._send("POST", "/session", {"capabilities": capabilities})["sessionId"]
        self.command("POST", "/timeouts", {"script": SCRIPT_TIMEOUT_MS})

    def _port(self):
        for line in self.driver.stdout:
            if "successfully on port" in line:
                return line.rstrip(".\n").split()[-1]
        raise Failed("chromedriver did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.command("DELETE", "")
        finally:
            self.driver.kill()
            self.driver.wait()
            shutil.rmtree(self.profile, ignore_errors=True)

    def _send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise Failed(json.load(error)["value"]["message"].split("\n")[0]) from error

    def command(self, method, path, body=None):
        return self._send(method, f"/session/{self.session}{path}", body)

    def open(self, url):
        self.command("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """Runs the body of a function in the page, and returns what it returns."""
        return self.command("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def open_tab(self):
        """A new tab, to which the commands go from now on."""
        self.command("POST", "/window", {"handle": self.command("POST", "/window/new", {"type": "tab"})["handle"]})

    def run_async(self, script, *arguments):
        """The same; the script calls its last argument with what to return."""
        return self.command("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.command("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.command("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.command("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.command("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def text(self, selector="body"):
        """The visible text of the first match; "" if there is none."""
        return self.run("const e = document.querySelector(arguments[0]); return e ? e.innerText : '';", selector)

    def wait(self, script, *arguments, what=None, seconds=20):
        """Waits until the script returns something true, and returns it. The page itself looks every 25 ms, for a second at a time."""
        look = """const done = arguments[arguments.length - 1]; const given = [...arguments].slice(0, -1); const end = performance.now() + 1000;
            const test = function () { %s
            };
            (function look() {
              let value = null;
              try { value = test.apply(null, given); } catch { /* what it looks at is not there yet */ }
              if (value || performance.now() > end) done(value); else setTimeout(look, 25);
            })();""" % script
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                value = self.run_async(look, *arguments)
            except Failed:  # another page has come meanwhile
                value = None
                time.sleep(0.02)
            if value:
                return value
        raise Failed(f"{what or script} did not become true; the page shows:\n{self.text()}")

    def wait_text(self, text, selector="body"):
        return self.wait("const e = document.querySelector(arguments[0]); return e && e.innerText.includes(arguments[1]);", selector, text, what=f"\"{text}\"")

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.command("GET", "/screenshot")))

    def narrow(self, width, height):
        """A screen of this size, which may be narrower than the smallest window."""
        self.command("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride",
                                                   "params": {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}})

    def prefer(self, **features):
        """What the reader prefers, as prefers_color_scheme="dark"; nothing: what the browser was started with."""
        self.command("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia",
                                                   "params": {"features": [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]}})

    def settle(self):
        """Waits until nothing has changed on the page for a moment."""
        self.command("POST", "/execute/async", {"args": [], "script": """
            const done = arguments[0];
            let timer = setTimeout(done, 150);
            new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(done, 150); }).observe(document.querySelector('main'), { childList: true });
            setTimeout(done, 1500);"""})

    def log(self):
        """Lines of the browser's console, among them each violation of the policy."""
        return [row["message"] for row in self.command("POST", "/se/log", {"type": "browser"})]
