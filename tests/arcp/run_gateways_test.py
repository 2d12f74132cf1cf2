"""`arcp run` with gateways: a confined command that calls models and tools of the user's configuration, the stand-in
provider, servers of tools in sandboxes of their own, and what the user sees of it.

    tests/arcp/run_gateways_test.py BIN_DIR
"""
import decimal
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
GATEWAY = os.path.join(os.path.dirname(HERE), "gateway")
sys.path.insert(0, GATEWAY)

import provider  # noqa: E402

BIN = ""
SERVER = os.path.join(GATEWAY, "tool_server.py")
SECRET = "sk-of-the-provider"
PRICES = {name: {"mode": "chat", "max_input_tokens": 100000, "max_output_tokens": 1000,
                 "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05} for name in ("m", "other", "m--slow")}
# Of each call: 100 tokens of input and 10 of output.
COST = decimal.Decimal("0.00045")
# The body has 65 bytes, 512 tokens may be added, and at least 256 tokens of output must be affordable.
LEAST = decimal.Decimal("0.005571")
COMMAND = '''
import json, os, sys, urllib.error, urllib.request
def post(url, body, headers={}):
    request = urllib.request.Request(url, json.dumps(body).encode(), {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, dict(response.headers), json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), json.load(error)
def model(name="m"):
    return post(os.environ["OPENAI_BASE_URL"] + "/chat/completions",
                {"model": name, "messages": [{"role": "user", "content": "ping"}]},
                {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
def ask(method, params):
    return post(os.environ["ARCP_MCP_URL"], {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})[2]["result"]
def call(name, arguments={}):
    result = ask("tools/call", {"name": name, "arguments": arguments})
    return result.get("isError", False), result["content"][0]["text"]
def tools():
    return sorted(tool["name"] for tool in ask("tools/list", {})["tools"])
'''


def environment_of(home, **more):
    """The environment of a program of ours: the user's, and what the build's sanitizer is told."""
    kept = {name: value for name, value in os.environ.items() if name == "PATH" or name.endswith("SAN_OPTIONS")}
    return {**kept, "HOME": home, **more}


class User:
    """A user with a directory of his own, whose configuration file has these groups."""

    def __init__(self, directory, groups):
        self.directory = directory
        self.home = self.make("home")
        self.work = self.make("work")
        self.make("home/.config/arcp")
        self.write("prices.json", json.dumps(PRICES))
        self.key = self.write("home/provider.key", SECRET + "\n", 0o600)
        self.config = self.write("home/.config/arcp/config.yaml", groups.replace("PRICES", self.path("prices.json")))

    def path(self, name):
        return os.path.join(self.directory, name)

    def make(self, name):
        os.makedirs(self.path(name))
        return self.path(name)

    def write(self, name, text, mode=0o644):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf8") as file:
            file.write(text)
        return self.path(name)

    def run(self, *options, does, environment=()):
        """Returns the process that ended, what the command printed as JSON, and the lines of the report."""
        self.write("work/command.py", COMMAND + does)
        report = self.path("report")
        done = subprocess.run(
            [f"{BIN}/arcp", "run", "--report", report, *options, "--", sys.executable, "-B", "command.py"],
            capture_output=True, text=True, cwd=self.work, timeout=120, check=False,
            env=environment_of(self.home, TMPDIR=self.directory, **dict(environment)))
        printed = json.loads(done.stdout) if done.stdout.startswith(("{", "[", '"')) else None
        with open(report, encoding="utf8") as file:
            lines = [json.loads(line, parse_float=decimal.Decimal) for line in file]
        return done, printed, lines

    def list(self, *words):
        """What a command that lists the configuration has printed."""
        return subprocess.run([f"{BIN}/arcp", *words], capture_output=True, text=True, cwd=self.work, timeout=120, check=False,
                              env=environment_of(self.home, TMPDIR=self.directory))

    def refuse(self, *options):
        """The error message for a command line that is refused."""
        done = subprocess.run([f"{BIN}/arcp", "run", *options, "--", "true"], capture_output=True, text=True,
                              cwd=self.work, timeout=60, check=False,
                              env=environment_of(self.home, PROVIDER_KEY=SECRET))
        assert done.returncode == 2, done
        return done.stderr


def costs_of(lines):
    return [line["body"]["value"] for line in lines if line.get("kind") == "metric"]


class Test(unittest.TestCase):
    def setUp(self):
        self.provider = provider.Provider()
        self.addCleanup(self.provider.__exit__)
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def user(self, groups):
        return User(self.directory.name, groups)

    def models(self, key="{file:~/provider.key}", more=""):
        return f"""
models:
  prices: PRICES
  providers:
    - {{name: stand-in, dialect: openai, url: "http://127.0.0.1:{self.provider.server_port}/v1", key: "{key}", models: ["m", "other", "m--*"]}}
{more}"""

    @staticmethod
    def tools(more="", lease="{}"):
        return f"""
tools:
  servers:
    - {{name: web, command: ["{sys.executable}", "-B", "{SERVER}"], lease: {lease}{more}}}
"""

    def test_a_command_stops_at_the_ceiling_and_the_user_sees_each_cost(self):
        user = self.user(self.models())
        done, printed, lines = user.run("--model", "m", "--budget", "USD:0.05", does='''
answered = 0
while True:
    status, headers, body = model()
    if status != 200:
        break
    answered += 1
print(json.dumps([answered, status, headers["x-arcp-code"], body["error"]["message"]]))
''')
        self.assertEqual(done.returncode, 0, done.stderr)
        answered, status, code, message = printed
        self.assertEqual((status, code), (402, "budget_exhausted"), message)
        self.assertEqual(costs_of(lines), [COST] * answered)
        spent = COST * answered
        self.assertLess(decimal.Decimal("0.05") - spent, LEAST)
        end = lines[-1]
        self.assertEqual((end["model_calls"], end["tool_calls"], end["spent"]), (answered, 0, {"USD": f"{spent.normalize():f}"}))
        self.assertIn(f"model     m {COST} USD, 100+10 tokens, ", done.stderr)
        self.assertIn(f"arcp run: {answered} model calls; spent {spent.normalize():f} of 0.05 USD\n", done.stderr)
        self.assertIn("denied    model.use m (the budget of USD does not pay it)", done.stderr)
        self.assertNotIn("To allow", done.stderr)
        plan = lines[0]["plan"]
        self.assertEqual([line["verdict"] for line in plan["lines"] if line["capability"] in ("model.use", "cost.budget")],
                         ["exact", "exact"])

    def test_the_key_reaches_the_provider_and_never_the_command(self):
        user = self.user(self.models())
        done, printed, _ = user.run("--model", "m", "--read", self.directory.name, does=f'''
def text(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError as problem:
        return type(problem).__name__
status = model()[0]
print(json.dumps({{"status": status, "key": text("{user.home}/provider.key"), "config": text("{user.home}/.config/arcp/config.yaml"),
                  "price": len(text("{user.path("prices.json")}")), "environment": dict(os.environ)}}))
''')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(printed["status"], 200)
        self.assertEqual(self.provider.requests[-1].headers["Authorization"], "Bearer " + SECRET)
        self.assertNotIn(SECRET, done.stdout + done.stderr)
        self.assertRegex(printed["key"], "Error$")
        self.assertRegex(printed["config"], "Error$")
        self.assertGreater(printed["price"], 50)  # the directory itself is granted
        self.assertEqual(printed["environment"]["OPENAI_API_KEY"], "sk-arcp-job")
        self.assertEqual(printed["environment"]["ANTHROPIC_BASE_URL"], "http://llm.arcp")
        self.assertNotIn("ARCP_MCP_URL", printed["environment"])

    def test_a_key_of_the_environment_cannot_be_passed_to_the_command(self):
        user = self.user(self.models(key="{env:PROVIDER_KEY}"))
        self.assertIn("--env PROVIDER_KEY: ", user.refuse("--model", "m", "--env", "PROVIDER_KEY"))
        done, printed, _ = user.run("--model", "m", environment={"PROVIDER_KEY": SECRET},
                                    does='print(json.dumps([model()[0], "PROVIDER_KEY" in os.environ]))')
        self.assertEqual(printed, [200, False], done.stderr)

    def test_a_model_that_is_not_granted_is_denied_and_named(self):
        user = self.user(self.models())
        done, printed, lines = user.run("--model", "m", does='print(json.dumps([model("other")[0], model("other")[0]]))')
        self.assertEqual(printed, [403, 403], done.stderr)
        self.assertEqual(len(self.provider.requests), 0)
        denials = [line["record"]["denied"] for line in lines if line["type"] == "denied"]
        self.assertEqual([(one["capability"], one["target"], one["layer"]) for one in denials][:1],
                         [("model.use", "other", "gateway")])
        self.assertEqual(denials[-1]["count"], 2)
        self.assertIn("arcp run: 1 denied. To allow: --model other\n", done.stderr)

    def test_a_lease_that_names_no_currency_of_the_prices_pays_nothing(self):
        user = self.user(self.models())
        _, printed, lines = user.run("--model", "m", "--budget", "EUR:1", does="print(json.dumps([model()[0]]))")
        self.assertEqual((printed, len(self.provider.requests), lines[-1]["spent"]), ([403], 0, {}))

    def test_of_tools_those_that_are_granted_are_listed_and_called(self):
        user = self.user(self.tools())
        done, printed, lines = user.run("--tool", "web.echo", does='''
print(json.dumps({"tools": tools(), "echo": call("web__echo", {"a": 1}), "pid": call("web__pid")}))
''')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(printed["tools"], ["web__echo"])
        self.assertFalse(printed["echo"][0])
        self.assertTrue(printed["pid"][0])
        self.assertIn("PERMISSION_DENIED", printed["pid"][1])
        self.assertEqual([line["body"]["tool"] for line in lines if line.get("kind") == "tool_call"], ["web.echo"])
        self.assertIn('call      web.echo {"a":1}\n', done.stderr)
        self.assertIn("arcp run: 1 tool call\n", done.stderr)
        self.assertIn("To allow: --tool web.pid\n", done.stderr)

    def test_a_client_that_starts_a_command_reaches_the_gateway_by_mcp_stdio(self):
        user = self.user(self.tools())
        build = os.path.dirname(BIN)
        # LeakSanitizer cannot work in a sandbox.
        done, printed, _ = user.run("--env", "ASAN_OPTIONS=detect_leaks=0", "--tool", "web.echo", "--tool", "web.slow", "--base", BIN, "--base", f"{build}/modules", does=f'''
import subprocess
lines = [{{"id": 1, "method": "initialize", "params": {{"protocolVersion": "2025-11-25", "capabilities": {{}}, "clientInfo": {{"name": "t", "version": "1"}}}}}},
         {{"method": "notifications/initialized"}},
         {{"id": "list", "method": "tools/list"}},
         {{"id": 2, "method": "tools/call", "params": {{"name": "web__echo", "arguments": {{"a": 1}}, "_meta": {{"progressToken": 7}}}}}},
         {{"id": 3, "method": "tools/call", "params": {{"name": "web__pid"}}}},
         {{"id": 4, "method": "server/discover", "params": {{"_meta": {{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {{}}}}}}}}]
text = "".join(json.dumps({{"jsonrpc": "2.0", **line}}) + "\\n" for line in lines) + "no JSON\\n"
ended = subprocess.run(["{BIN}/arcp", "mcp-stdio"], input=text, capture_output=True, text=True, timeout=100)
answers = [json.loads(line) for line in ended.stdout.splitlines()]
print(json.dumps({{"status": ended.returncode, "error": ended.stderr, "ids": [a["id"] for a in answers if "id" in a], "answers": {{str(a.get("id")): a for a in answers}}}}))
''')
        self.assertEqual((printed["status"], printed["error"]), (0, ""), done.stderr)
        self.assertEqual(sorted(map(str, printed["ids"])), ["1", "2", "3", "4", "None", "list"])
        answers = printed["answers"]
        self.assertEqual(answers["1"]["result"]["protocolVersion"], "2025-11-25")
        self.assertEqual([tool["name"] for tool in answers["list"]["result"]["tools"]], ["web__echo", "web__slow"])
        self.assertFalse(answers["2"]["result"].get("isError", False))
        self.assertTrue(answers["3"]["result"]["isError"])
        self.assertIn("2026-07-28", json.dumps(answers["4"].get("result")), answers["4"])
        self.assertEqual(answers["None"]["error"]["code"], -32700)

    def test_a_request_gets_an_error_when_there_is_no_gateway(self):
        text = '{"jsonrpc": "2.0", "id": "a", "method": "ping"}\n{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
        done = subprocess.run([f"{BIN}/arcp", "mcp-stdio"], input=text, capture_output=True, text=True, timeout=60,
                              check=False, env={**os.environ, "ARCP_MCP_URL": "http://127.0.0.1:1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([answer["id"] for answer in answers], ["a"])
        self.assertIn("cannot be reached", answers[0]["error"]["message"])

    def test_mcp_stdio_needs_the_environment_of_a_job(self):
        done = subprocess.run([f"{BIN}/arcp", "mcp-stdio"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, check=False, env=environment_of(self.directory.name))
        self.assertEqual(done.returncode, 2)
        self.assertIn("ARCP_MCP_URL is not set", done.stderr)

    def test_a_server_has_the_lease_of_its_configuration_not_that_of_the_command(self):
        self.directory_of_server = os.path.join(self.directory.name, "servers")
        os.mkdir(self.directory_of_server)
        for name, text in (("servers/own", "the server's"), ("commands", "the command's")):
            with open(os.path.join(self.directory.name, name), "w", encoding="utf8") as file:
                file.write(text)
        user = self.user(self.tools(lease=f'{{fs.read: ["{self.directory_of_server}/**"]}}'))
        done, printed, _ = user.run("--tool", "web.*", "--read", f"{self.directory.name}/commands", does=f'''
print(json.dumps([call("web__read", {{"of": "{self.directory.name}/" + name}})[1] for name in ("servers/own", "commands")]))
''')
        self.assertEqual(printed, ["the server's", "no: FileNotFoundError"], done.stderr)

    def test_a_tool_with_a_price_draws_on_the_same_budget(self):
        user = self.user(self.tools(more=', prices: {"*": "USD:0.02"}'))
        done, printed, lines = user.run("--tool", "web.echo", "--budget", "USD:0.05",
                                        does='print(json.dumps([call("web__echo")[0] for _ in range(3)]))')
        self.assertEqual(printed, [False, False, True], done.stderr)
        self.assertEqual(lines[-1]["spent"], {"USD": "0.04"})

    def test_a_call_that_is_under_way_when_the_command_ends_is_charged(self):
        user = self.user(self.models())
        done, _, lines = user.run("--model", "m--slow", "--budget", "USD:1", does='''
import socket
body = json.dumps({"model": "m--slow", "stream": True, "messages": [{"role": "user", "content": "ping"}]}).encode()
s = socket.create_connection(("llm.arcp", 80))
s.sendall(b"POST /v1/chat/completions HTTP/1.1\\r\\nHost: llm.arcp\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
assert s.recv(12) == b"HTTP/1.1 200"
os._exit(0)
''')
        self.assertEqual((done.returncode, lines[-1]["model_calls"]), (0, 1), done.stderr)
        self.assertGreater(decimal.Decimal(lines[-1]["spent"]["USD"]), 0)

    def test_a_command_without_grants_of_calls_needs_no_configuration(self):
        user = self.user("models: [not, a, mapping]\n")
        done, printed, lines = user.run(does='print(json.dumps(["OPENAI_BASE_URL" in os.environ]))')
        self.assertEqual((done.returncode, printed), (0, [False]), done.stderr)
        self.assertNotIn("spent", lines[-1])
        self.assertIn("config.yaml:1: models: ", user.refuse("--model", "m"))

    def test_what_an_option_asks_for_must_be_configured(self):
        user = self.user(self.models())
        self.assertIn("has no tools.servers", user.refuse("--tool", "web.*"))
        self.assertIn("--provider nobody: ", user.refuse("--model", "m", "--provider", "nobody"))
        self.assertIn("--provider needs --model", user.refuse("--provider", "stand-in"))
        self.assertIn("cannot be given when a lease is learnt", user.refuse("--learn", "/dev/null", "--model", "m"))

    def test_what_only_a_daemon_has_is_refused(self):
        cases = [("  spend: [{budget: [\"USD:5\"]}]\n", "models.spend is for arcpd"),
                 ("gateways: {listen: \"127.0.0.1:0\"}\n", "gateways.listen and gateways.url are for arcpd")]
        for i, (more, message) in enumerate(cases):
            with self.subTest(message):
                directory = os.path.join(self.directory.name, str(i))
                user = User(directory, self.models(more=more))
                self.assertIn(message, user.refuse("--model", "m"))

    def test_a_provider_that_is_not_chosen_serves_nothing(self):
        second = ('    - {name: second, dialect: openai, url: "http://127.0.0.1:1/v1", key: "{file:~/absent}", models: ["m"]}\n')
        user = self.user(self.models(more=second))
        done, printed, _ = user.run("--model", "m", "--provider", "stand-in", does="print(json.dumps([model()[0]]))")
        self.assertEqual(printed, [200], done.stderr)

    def test_tools_are_listed_with_their_names_prices_and_verdicts(self):
        user = self.user(self.tools(more=', prices: {"echo": "USD:0.02", "env": "EUR:1"}'))
        done = user.list("tools", "-o", "json", "--lease", '{"tool.call": ["web.e*", "web.odd.name"], "cost.budget": ["USD:0.02"]}')
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {row["tool"]: row for row in map(json.loads, done.stdout.splitlines())}
        self.assertEqual(rows["web.echo"], {"server": "web", "tool": "web.echo", "name": "web__echo", "price": "USD:0.02", "allowed": True})
        self.assertEqual((rows["web.env"]["allowed"], rows["web.env"]["reason"]), (False, "NO_CURRENCY"))
        self.assertEqual((rows["web.pid"]["allowed"], rows["web.pid"]["reason"]), (False, "NO_MATCH"))
        self.assertEqual((rows["web.odd.name"]["name"], rows["web.odd.name"]["allowed"]), ("web__odd_name", True))
        poor = user.list("tools", "-o", "json", "--lease", '{"tool.call": ["**"], "cost.budget": ["USD:0.019"]}')
        self.assertIn('"tool":"web.echo","name":"web__echo","price":"USD:0.02","allowed":false,"reason":"BUDGET"', poor.stdout)
        table = user.list("tools", "--lease", '{"tool.call": ["web.echo"]}')
        self.assertRegex(table.stdout, r"^TOOL +NAME FOR CLIENTS +PRICE +LEASE +DESCRIPTION\n")
        self.assertRegex(table.stdout, r"\nweb\.echo +web__echo +USD:0\.02 +allowed ")
        self.assertRegex(table.stdout, r"\nweb\.pid +web__pid +- +denied ")
        self.assertEqual(table.stderr, "arcp tools: 9 tools of 1 server, of which the lease allows 1\n")
        self.assertEqual(user.list("tools", "-o", "name").stdout.splitlines()[0], "web.echo")
        self.assertTrue(user.list("tools", "-o", "yaml").stdout.startswith('- server: "web"\n  tool: "web.echo"\n'))
        self.assertEqual([name for name in os.listdir(self.directory.name) if name.startswith("arcp-run-")], [])

    def test_a_server_that_fails_is_reported_and_the_others_are_listed(self):
        dead = ('    - {name: dead, command: ["false"]}\n    - {name: gone, command: ["/absent/server"]}\n'
                '    - {name: off, url: "http://127.0.0.1:1/"}\n    - {name: bad, command: ["cat"]}\n')
        user = self.user(self.tools() + dead)
        done = user.list("tools", "-o", "json")
        self.assertEqual(done.returncode, 1, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len([row for row in rows if row["server"] == "web"]), 9)
        errors = {row["server"]: row["error"] for row in rows if "error" in row}
        self.assertEqual(sorted(errors), ["bad", "dead", "gone", "off"])
        self.assertIn("ended with status 1", errors["dead"])
        self.assertIn("/absent/server", errors["gone"])
        self.assertIn("cannot be reached", errors["off"])
        for error in errors.values():
            self.assertIn(f"arcp tools: {error}\n", done.stderr)
        some = user.list("tools", "-o", "name", "web")
        self.assertEqual((some.returncode, some.stderr), (0, ""))

    def test_tools_that_are_not_configured_are_not_listed(self):
        user = self.user(self.tools())
        unknown = user.list("tools", "web", "other")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("has no server of tools 'other'", unknown.stderr)
        none = User(os.path.join(self.directory.name, "none"), self.models())
        self.assertEqual(none.list("tools").returncode, 1)
        self.assertIn("has no tools.servers", none.list("tools").stderr)
        self.assertEqual(none.list("tools", "--lease", "{").returncode, 1)

    def test_models_of_the_configuration_are_listed_with_their_verdicts(self):
        more = ('    - {name: dear, dialect: anthropic, url: "http://127.0.0.1:1", key: "{file:~/absent}", models: [claude], multiplier: "2"}\n'
                '    - {name: own, dialect: openai, url: "http://127.0.0.1:1/v1", models: [llama], price: free}\n'
                '  aliases: {fast: [m, other]}\n')
        user = self.user(self.models(more=more))
        user.write("prices.json", json.dumps({**PRICES, "anthropic/claude": PRICES["m"]}))
        done = user.list("models", "--json", "--bytes", "1000", "--lease", '{"model.use": ["fast", "llama", "claude"], "cost.budget": ["USD:1"]}')
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(row["model"], row.get("stands_for"), row["provider"], row["allowed"]) for row in rows],
                         [("fast", "m", "stand-in", True), ("fast", "other", "stand-in", True), ("m", None, "stand-in", False),
                          ("other", None, "stand-in", False), ("m--slow", None, "stand-in", False), ("claude", None, "dear", True),
                          ("llama", None, "own", True)])
        bounds = {row["model"]: row["bound"]["total"] for row in rows if "bound" in row}
        self.assertEqual(bounds["m"], "0.019536")  # 1512 tokens of input and 1000 of output
        self.assertEqual(bounds["claude"], "0.039072")
        self.assertEqual(rows[-1]["unpriced"], "free")
        foreign = user.list("models", "--json", "--lease", '{"model.use": ["**"], "cost.budget": ["EUR:1"]}')
        self.assertEqual({json.loads(line)["model"]: json.loads(line)["allowed"] for line in foreign.stdout.splitlines()},
                         {"fast": False, "m": False, "other": False, "m--slow": False, "claude": False, "llama": True})
        table = user.list("models", "claude", "llama").stdout
        self.assertRegex(table, r"^MODEL +PROVIDER +IN/1M +OUT/1M +CONTEXT +OUTPUT\nclaude +dear +6 +30 +100000 +1000\nllama +own +free\n$")

    def test_models_that_are_not_configured_are_not_listed(self):
        user = self.user(self.tools())
        self.assertIn("has no models.providers", user.list("models").stderr)
        other = User(os.path.join(self.directory.name, "other"), self.models())
        self.assertEqual((other.list("models", "absent").returncode, other.list("models", "absent").stdout), (1, ""))
        broken = User(os.path.join(self.directory.name, "broken"), "models: [no, mapping]\n")
        self.assertEqual(broken.list("models").returncode, 2)
        self.assertIn("config.yaml:1: models: ", broken.list("models").stderr)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main(verbosity=2)
