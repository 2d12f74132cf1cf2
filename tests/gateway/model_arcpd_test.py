"""An agent of arcpd that calls a model until its budget is spent: arcpd, an agent that finds the gateway in its
environment, the stand-in provider, and the submitter who sees what each call cost.

    tests/gateway/model_arcpd_test.py BIN_DIR
"""
import contextlib
import decimal
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import provider  # noqa: E402

BIN = ""
PRICES = {"m": {"mode": "chat", "max_input_tokens": 100000, "max_output_tokens": 1000,
                "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05}}
# Of each call: 100 tokens of input and 10 of output.
COST = decimal.Decimal("0.00045")
# The body has 65 bytes, 512 tokens may be added, and at least 256 tokens of output must be affordable.
LEAST = decimal.Decimal("0.005571")
AGENT = '''
import json, os, urllib.error, urllib.request
url, key = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "ping"}]}).encode()
assert len(body) == 65, len(body)
answered, ids = 0, []
while True:
    request = urllib.request.Request(url + "/chat/completions", body, {
        "Authorization": "Bearer " + key, "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            ids.append(response.headers["x-arcp-call-id"])
            assert json.load(response)["usage"]["prompt_tokens"] == 100
            answered += 1
    except urllib.error.HTTPError as error:
        print(json.dumps({"answered": answered, "status": error.code, "code": error.headers["x-arcp-code"],
                          "retry": error.headers["x-should-retry"], "ids": ids}))
        break
'''


# Asks the gateway for an answer, and the provider itself.
DIRECT = '''
import json, os, urllib.error, urllib.request
# What no line grants has no listener of its own, so the provider is asked for by the explicit proxy.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({"http": "http://127.0.0.1:3128"}))
def ask(url, call=urllib.request.urlopen):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "ping"}]}).encode()
    try:
        with call(urllib.request.Request(url + "/chat/completions", body, {
                "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}), timeout=60) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
print(json.dumps({"gateway": ask(os.environ["OPENAI_BASE_URL"]), "direct": ask("%s/v1", direct.open)}))
'''


class Daemon(contextlib.ExitStack):
    """arcpd in a directory of its own, with this configuration of `models`."""

    def __init__(self, models, agent=AGENT, store="memory:"):
        super().__init__()
        self.directory = self.enter_context(tempfile.TemporaryDirectory())
        self.write("agent.py", agent)
        self.write("prices.json", json.dumps(PRICES))
        self.write("key", "sk-of-the-provider\n", 0o600)
        self.config = self.write("arcpd.yaml", f"""
listen: ["ws://127.0.0.1:0/arcp"]
store: "{store}"
tokens: [{{principal: alice, token: a-token-of-the-tests}}]
agents:
  - {{name: caller, mode: plain, confine: false, stderr_in_errors: true, command: ["{sys.executable}", "-B", "{self.path('agent.py')}"]}}
models:
  prices: {self.path("prices.json")}
{models}""")
        self.environment = {**os.environ, "ARCP_TOKEN": "a-token-of-the-tests", "STATE_DIRECTORY": self.directory, "HOME": self.directory}

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text, mode=0o644):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf8") as file:
            file.write(text)
        return self.path(name)

    def check(self):
        return subprocess.run([f"{BIN}/arcpd", "--check-config", self.config], capture_output=True,
                              text=True, env=self.environment, timeout=60, check=False)

    def start(self):
        daemon = self.process = subprocess.Popen([f"{BIN}/arcpd", "--config", self.config], stdout=subprocess.PIPE,
                                                 env=self.environment, text=True)
        self.callback(daemon.stdout.close)
        self.callback(daemon.wait)
        self.callback(daemon.terminate)
        self.url = re.search(r"ws://\S+", daemon.stdout.readline()).group()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def arcp(self, *words):
        """What the command prints, as JSON."""
        done = subprocess.run([f"{BIN}/arcp", *words], stdout=subprocess.PIPE, cwd="/",
                              env={"PATH": os.environ["PATH"], "HOME": self.directory}, timeout=120, check=False)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def submit(self, *options):
        done = subprocess.run([f"{BIN}/arcp", "submit", "caller", "--url", self.url, "--json", *options],
                              stdout=subprocess.PIPE, env=self.environment, timeout=120, check=False)
        return [json.loads(line, parse_float=decimal.Decimal) for line in done.stdout.splitlines()]


def models_of(url, more=""):
    return f"""  providers:
    - {{name: stand-in, dialect: openai, url: "{url}/v1", key: "{{file:KEY}}", models: ["m"]}}
{more}"""


def values(lines, name):
    """All members of this name, at any depth."""
    if isinstance(lines, list):
        return [found for one in lines for found in values(one, name)]
    if not isinstance(lines, dict):
        return []
    return ([lines[name]] if name in lines else []) + [f for one in lines.values() for f in values(one, name)]


def lines_of_net(found):
    """The verdicts of a plan on lines of net.fetch, each once."""
    lines = [line for group in values(found, "lines") for line in group if line["capability"] == "net.fetch"]
    return [line for i, line in enumerate(lines) if line not in lines[:i]]


def costs_of(lines):
    return [body for body in values(lines, "body")
            if isinstance(body, dict) and body.get("name") == "cost.inference"]


def result_of(lines):
    """What the agent printed."""
    found = [one for one in values(lines, "result") if one]
    assert found, lines
    return json.loads(found[0]) if isinstance(found[0], str) else found[0]


class Test(unittest.TestCase):
    def setUp(self):
        self.provider = provider.Provider()
        self.addCleanup(self.provider.__exit__)
        self.url = f"http://127.0.0.1:{self.provider.server_port}"

    def daemon(self, more="", store="memory:"):
        daemon = Daemon(models_of(self.url, more), store=store)
        self.addCleanup(daemon.close)
        with open(daemon.config, encoding="utf8") as file:
            text = file.read().replace("KEY", daemon.path("key"))
        daemon.write("arcpd.yaml", text)
        return daemon

    def test_an_agent_stops_at_the_ceiling_and_the_submitter_sees_each_cost(self):
        daemon = self.daemon()
        daemon.start()
        lines = daemon.submit("--grant", "model.use=m", "--budget", "USD:0.05")
        result = result_of(lines)
        self.assertEqual((result["status"], result["code"], result["retry"]), (402, "budget_exhausted", "false"))
        costs = costs_of(lines)
        self.assertEqual([body["dimensions"]["call_id"] for body in costs], result["ids"])
        self.assertEqual({body["value"] for body in costs}, {COST})
        self.assertEqual({body["dimensions"]["source"] for body in costs}, {"gateway"})
        # It was refused when less than the least call remained, and not before.
        remaining = decimal.Decimal("0.05") - COST * result["answered"]
        self.assertLess(remaining, LEAST)
        self.assertGreaterEqual(remaining + COST, LEAST)
        self.assertEqual(sum(body["value"] for body in costs), COST * result["answered"])
        self.assertIn("BUDGET_EXHAUSTED", json.dumps(lines, default=str))

    def test_a_principal_spends_no_more_on_a_day_than_its_purse_has_also_across_restarts(self):
        with tempfile.TemporaryDirectory() as place:
            daemon = self.daemon("  spend: [{budget: [\"USD:0.02\"]}]\n", f"sqlite:{place}/arcp.db")
            daemon.start()
            result = result_of(daemon.submit("--grant", "model.use=m", "--budget", "USD:0.01"))
            self.assertEqual(result["code"], "budget_exhausted")
            spent = COST * result["answered"]
            daemon.kill()
            daemon.start()
            # The job's own budget would pay for more.
            result = result_of(daemon.submit("--grant", "model.use=m", "--budget", "USD:5"))
            self.assertEqual((result["status"], result["code"]), (402, "budget_exhausted"))
            spent += COST * result["answered"]
            self.assertLess(decimal.Decimal("0.02") - spent, LEAST)
            self.assertGreaterEqual(decimal.Decimal("0.02") - spent + COST, LEAST)
            # A lease without a budget draws on the purse, too.
            result = result_of(daemon.submit("--grant", "model.use=m"))
            self.assertEqual((result["answered"], result["status"]), (0, 402))

    def test_a_call_that_was_under_way_when_arcpd_was_killed_is_spent_in_full(self):
        called, goes_on = threading.Event(), threading.Event()

        def wait(*_):
            called.set()
            goes_on.wait(60)
            return provider.Reply("pong")
        self.addCleanup(goes_on.set)
        self.provider.say = wait
        with tempfile.TemporaryDirectory() as place:
            # The call holds 577 tokens of input and 1 000 of output: USD 0.016731.
            daemon = self.daemon("  spend: [{budget: [\"USD:0.02\"]}]\n", f"sqlite:{place}/arcp.db")
            daemon.start()
            submit = subprocess.Popen([f"{BIN}/arcp", "submit", "caller", "--url", daemon.url, "--grant", "model.use=m"],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=daemon.environment)
            self.assertTrue(called.wait(60))
            daemon.kill()
            goes_on.set()
            submit.kill()
            submit.wait()
            daemon.start()
            result = result_of(daemon.submit("--grant", "model.use=m"))
            self.assertEqual((result["answered"], result["status"]), (0, 402))

    def test_a_model_that_the_lease_does_not_allow_is_not_called(self):
        daemon = self.daemon()
        daemon.start()
        lines = daemon.submit("--grant", "model.use=other", "--budget", "USD:0.05")
        result = result_of(lines)
        self.assertEqual((result["answered"], result["status"], result["code"]), (0, 403, "permission_denied"))
        self.assertEqual(costs_of(lines), [])

    def test_an_alias_has_the_rules_of_the_provider_that_serves_it(self):
        daemon = self.daemon("    - {name: local, dialect: openai, url: \"http://127.0.0.1:1/v1\", "
                             "models: [\"llama\"], price: free}\n  aliases: {mix: [llama, m]}\n")
        agent = AGENT.replace('"model": "m"', '"model": "mix", "not_known": 1')
        daemon.write("agent.py", agent.replace("assert len(body) == 65, len(body)\n", ""))
        daemon.start()
        # The lease leaves out the first model, whose provider is free and takes any member.
        result = result_of(daemon.submit("--grant", "model.use=m", "--budget", "USD:0.05"))
        self.assertEqual((result["answered"], result["status"], result["code"]), (0, 400, "unsupported_parameter"))
        self.assertEqual(self.provider.requests, [])

    def test_a_provider_is_reached_only_through_the_gateway_unless_the_setting_allows_it(self):
        """By an agent of arcpd and by `arcp run`, and so `arcp lease explain` and `arcp doctor` say."""
        if subprocess.run([f"{BIN}/arcp", "doctor"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("this host cannot give a sandbox a network of its own")
        for allows in (None, False, True):
            with self.subTest(allows=allows):
                daemon = Daemon(models_of(self.url))
                self.addCleanup(daemon.close)
                with open(daemon.config, encoding="utf8") as file:
                    text = file.read().replace("KEY", daemon.path("key")).replace("confine: false, ", "")
                # No agent reads what is in arcpd's state directory.
                text = text.replace(f'"{daemon.path("agent.py")}"', f'"-c", {json.dumps(DIRECT % self.url)}')
                if allows is not None:
                    text += f"\nenforce: {{allow_direct_models: {str(allows).lower()}}}\n"
                daemon.write("arcpd.yaml", text)
                daemon.start()
                lease = {"net.fetch": [f"{self.url}/**"], "model.use": ["m"], "cost.budget": ["USD:5"]}
                lines = daemon.submit("--lease", json.dumps(lease))
                got = result_of(lines)
                self.assertEqual(got["gateway"], 200, lines)
                self.assertEqual(got["direct"], 200 if allows else 403, lines)
                shown = lines_of_net(lines)
                self.assertEqual([one["verdict"] for one in shown], ["exact" if allows else "refused"], lines)
                reason = "models of this host are called by the gateway, llm.arcp"
                self.assertEqual(reason in values(lines, "reason"), not allows, lines)
                # The file of `arcp` has the same keys.
                own = daemon.write("config.yaml", text[text.index("models:"):])
                explained = daemon.arcp("lease", "explain", json.dumps(lease), "--enforce", "--json", "--config", own)
                self.assertEqual(lines_of_net(explained), shown)
                ceiling = daemon.write("doctor.yaml", f"policy: [{{max_lease: {json.dumps(lease)}}}]\n" + text)
                self.assertEqual(lines_of_net(daemon.arcp("doctor", "--json", "--config", ceiling)), shown)
                report = daemon.path("report")
                run = daemon.arcp("run", "--config", own, "--lease", json.dumps(lease), "--report", report, "--",
                                  sys.executable, "-B", "-c", DIRECT % self.url)
                with open(report, encoding="utf8") as file:
                    reported = [json.loads(line) for line in file]
                self.assertEqual(run, [got], reported)
                self.assertEqual(lines_of_net(reported), shown)
                self.assertEqual(reason in values(reported, "reason"), not allows, reported)

    def test_check_config_says_who_serves_what(self):
        daemon = self.daemon("  aliases: {fast: m, best: [big, m]}\n")
        done = daemon.check()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("alias fast: m by stand-in\n", done.stderr)
        self.assertIn("alias best: big by no provider, m by stand-in\n", done.stderr)
        self.assertIn('aliases: {fast: "m", best: ["big", "m"]}', done.stdout)
        self.assertNotIn("sk-of", done.stdout)

    def test_check_config_refuses_what_cannot_be(self):
        for more, message in (("  exchange: {USD: \"1\"}\n", "must be another currency"),
                              ("  exchange: {EUR: \"0\"}\n", "decimal above 0"),
                              ("  prices: /nowhere/prices.json\n", "prices.json"),
                              ("  spend: [{budget: [\"EUR:5\"]}]\n", "not charged in this currency"),
                              ("  spend: [{budget: [\"five\"]}]\n", "models.spend[0].budget"),
                              ("  spend: [{principal: a}]\n", "needs budget"),
                              ("  aliases: {a: [x, 3]}\n", "")):
            daemon = self.daemon(more if "prices" not in more else "")
            if "prices" in more:
                with open(daemon.config, encoding="utf8") as file:
                    text = re.sub("  prices: .*\n", more, file.read())
                daemon.write("arcpd.yaml", text)
            done = daemon.check()
            self.assertEqual((done.returncode != 0, message in done.stderr), (message != "", True), done.stderr)


if __name__ == "__main__":
    BIN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
