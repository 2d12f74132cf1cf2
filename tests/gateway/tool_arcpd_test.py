"""Agents of arcpd that call tools: arcpd, agents that find the gateway in their environment or directory, and the
submitter who sees each call.

    tests/gateway/tool_arcpd_test.py BIN_DIR
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = ""
SERVER = os.path.join(HERE, "tool_server.py")
AGENT = '''
import json, os, sys, urllib.request
url, key = os.environ["ARCP_MCP_URL"], os.environ["ARCP_MCP_KEY"]
def ask(method, params, path="/", bearer=key):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(url + path, body, {
        "Authorization": "Bearer " + bearer, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)
def call(name, arguments={}):
    result = ask("tools/call", {"name": name, "arguments": arguments})["result"]
    return result.get("isError", False), result["content"][0]["text"]
def names():
    return sorted(tool["name"] for tool in ask("tools/list", {})["result"]["tools"])
'''


class Daemon(contextlib.ExitStack):
    """arcpd in a directory of its own, with these servers and this program of its agent."""

    def __init__(self, tools, agent, more=""):
        super().__init__()
        self.directory = self.enter_context(tempfile.TemporaryDirectory())
        self.more = more
        self.write("agent.py", AGENT + agent)
        self.configure(tools)
        self.environment = {**os.environ, "STATE_DIRECTORY": self.directory, "HOME": self.directory}

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text, mode=0o644):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf8") as file:
            file.write(text)
        return self.path(name)

    def configure(self, tools):
        self.config = self.write("arcpd.yaml", f"""
listen: ["ws://127.0.0.1:0/arcp"]
store: "memory:"
no_auth: true
agents:
  - {{name: caller, mode: plain, confine: false, stderr_in_errors: true, command: ["{sys.executable}", "-B", "{self.path('agent.py')}"]}}
{self.more}tools:
{tools}""")

    def check(self):
        return subprocess.run([f"{BIN}/arcpd", "--check-config", self.config], capture_output=True,
                              text=True, env=self.environment, timeout=60, check=False)

    def start(self):
        self.daemon = subprocess.Popen([f"{BIN}/arcpd", "--config", self.config], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env=self.environment, text=True)
        self.callback(self.daemon.stdout.close)
        self.callback(self.daemon.stderr.close)
        self.callback(self.daemon.wait)
        self.callback(self.daemon.terminate)
        self.url = re.search(r"ws://\S+", self.daemon.stdout.readline()).group()

    def metrics(self):
        for line in self.daemon.stderr:
            if "metrics at" in line:
                break
        with urllib.request.urlopen(re.search(r"http://\S+", line).group(), timeout=60) as response:
            return response.read().decode()

    def reload(self, tools):
        self.configure(tools)
        self.daemon.send_signal(signal.SIGHUP)
        for line in self.daemon.stderr:
            if "reload" in line or "configuration" in line:
                return line
        return ""

    def submit(self, *options, agent="caller"):
        done = subprocess.run([f"{BIN}/arcp", "submit", agent, "--url", self.url, "--json", *options],
                              stdout=subprocess.PIPE, env=self.environment, timeout=120, check=False)
        return [json.loads(line) for line in done.stdout.splitlines()]


def server(name, more=""):
    return f'    - {{name: {name}, command: ["{sys.executable}", "-B", "{SERVER}"], confine: false{more}}}\n'


def servers(*rows, more=""):
    return "  servers:\n" + "".join(rows) + more


def events(lines, kind):
    return [line["body"] for line in lines if line.get("kind") == kind]


def result_of(lines):
    """What the agent printed."""
    assert lines[-1].get("final_status") == "success", lines
    return lines[-1]["result"]


class Test(unittest.TestCase):
    def daemon(self, *arguments, **more):
        daemon = Daemon(*arguments, **more)
        self.addCleanup(daemon.close)
        return daemon

    def test_an_agent_calls_the_tools_that_its_lease_grants_and_no_others(self):
        daemon = self.daemon(servers(server("web"), server("other")), '''
print(json.dumps([names(), call("web__echo", {"a": 1}), call("web__pid"), call("other__echo")]))
''')
        daemon.start()
        lines = daemon.submit("--grant", "tool.call=web.echo")
        listed, echo, denied, other = result_of(lines)
        self.assertEqual(listed, ["web__echo"])
        self.assertEqual(echo, [False, 'echo {"a":1}'])
        self.assertTrue(denied[0] and other[0])
        self.assertEqual(json.loads(denied[1])["code"], "PERMISSION_DENIED")
        self.assertEqual(json.loads(denied[1])["granted"], ["web.echo"])
        calls = events(lines, "tool_call")
        self.assertEqual([(one["tool"], one["args"]) for one in calls], [("web.echo", {"a": 1})])
        self.assertEqual([one["call_id"] for one in events(lines, "tool_result")], [calls[0]["call_id"]])
        self.assertIn("PERMISSION_DENIED", json.dumps(lines))

    def test_a_server_runs_in_a_sandbox_with_its_own_lease(self):
        daemon = self.daemon("", "")
        given = daemon.enter_context(tempfile.TemporaryDirectory())
        secret = os.path.join(daemon.enter_context(tempfile.TemporaryDirectory()), "secret")
        for path in (secret, f"{given}/file"):
            with open(path, "w", encoding="utf8") as file:
                file.write("it is given")
        rows = [f'    - {{name: {name}, command: ["{sys.executable}", "-B", "{SERVER}"], lease: {lease}}}\n'
                for name, lease in (("none", "null"), ("some", f'{{fs.read: ["{given}/**"]}}'))]
        daemon.configure(servers(*rows))
        daemon.write("agent.py", AGENT + f'''
print(json.dumps([call(name + "__read", {{"of": path}})[1]
                  for name in ("none", "some") for path in ("{given}/file", "{secret}", "{daemon.config}")]))
''')
        daemon.start()
        lines = daemon.submit("--grant", "tool.call=*.read", "--grant", "fs.read=/**")
        results = result_of(lines)
        self.assertEqual(results[3], "it is given", lines)
        for i in (0, 1, 2, 4, 5):
            self.assertRegex(results[i], "^no: ", i)

    def test_the_price_of_a_tool_is_charged_until_the_budget_is_spent(self):
        daemon = self.daemon(servers(server("web", ', prices: {echo: "USD:0.02"}')), '''
print(json.dumps([call("web__echo")[0] for _ in range(4)]))
''')
        daemon.start()
        lines = daemon.submit("--grant", "tool.call=web.*", "--budget", "USD:0.05")
        self.assertEqual(result_of(lines), [False, False, True, True])
        self.assertEqual([body["value"] for body in events(lines, "metric") if body["name"] == "cost.tool"],
                         [0.02, 0.02])
        self.assertIn("BUDGET_EXHAUSTED", json.dumps(lines))

    def test_a_reload_changes_the_servers_and_keeps_those_that_are_the_same(self):
        shared = server("keep", ", scope: shared")
        daemon = self.daemon(servers(shared, server("old")), '''
print(json.dumps([sorted({name.split("__")[0] for name in names()}), call("keep__pid")[1]]))
''')
        daemon.start()
        before = result_of(daemon.submit("--grant", "tool.call=*.*"))
        self.assertIn("reloaded", daemon.reload(servers(shared, server("new"))))
        after = result_of(daemon.submit("--grant", "tool.call=*.*"))
        self.assertEqual((before[0], after[0]), (["keep", "old"], ["keep", "new"]))
        self.assertEqual(before[1], after[1])

    def test_the_exit_status_of_a_server_is_reported(self):
        # arcpd adopts orphans, and so learns of the end of the children of all its threads.
        daemon = self.daemon(servers(server("web")), '''
print(json.dumps([call("web__die") for _ in range(1)]))
''')
        daemon.start()
        lines = daemon.submit("--grant", "tool.call=web.*")
        self.assertIn("it has ended with status 3", json.dumps(result_of(lines)))

    def test_a_file_in_the_directory_of_the_job_names_the_gateway(self):
        daemon = self.daemon(servers(server("web")), """
import stat
entry = json.load(open(".mcp.json"))["mcpServers"]["arcp"]
mode = stat.S_IMODE(os.stat(".mcp.json").st_mode)
print(json.dumps([entry["url"] == url, entry["headers"] == {"Authorization": "Bearer " + key}, entry["type"], mode]))
""")
        daemon.start()
        self.assertEqual(result_of(daemon.submit("--grant", "tool.call=web.*")), [True, True, "http", 0o600])

    def test_a_confined_agent_finds_the_gateway_and_no_key(self):
        daemon = self.daemon(servers(server("web")), "print(json.dumps([url, key, names(), open('.mcp.json').read()]))\n")
        with open(daemon.config, encoding="utf8") as file:
            text = file.read().replace("confine: false, stderr", "stderr", 1)
        daemon.write("arcpd.yaml", text)
        program = daemon.enter_context(tempfile.NamedTemporaryFile("w", suffix=".py"))
        with open(daemon.path("agent.py"), encoding="utf8") as file:
            program.write(file.read())
        program.flush()
        daemon.write("arcpd.yaml", text.replace(daemon.path("agent.py"), program.name))
        daemon.start()
        url, key, listed, clients = result_of(daemon.submit("--grant", "tool.call=web.echo"))
        self.assertEqual((url, key, listed), ("http://mcp.arcp", "sk-arcp-job", ["web__echo"]))
        self.assertIn("http://mcp.arcp", clients)

    def test_calls_are_counted(self):
        daemon = self.daemon(servers(server("web")), '''
call("web__echo"), call("web__pid"), call("web__die"), call("none__x")
print(json.dumps(0))
''', more="http: {listen: \"127.0.0.1:0\"}\n")
        daemon.start()
        result_of(daemon.submit("--grant", "tool.call=web.echo", "--grant", "tool.call=web.die"))
        text = daemon.metrics()
        for outcome in ('server="web",outcome="answered"} 1', 'server="web",outcome="failed"} 1',
                        'server="web",outcome="refused"} 1', 'server="",outcome="refused"} 1'):
            self.assertIn("arcp_tool_calls_total{" + outcome, text)
        self.assertIn("arcp_tool_seconds_count 2\n", text)

    def test_the_key_of_a_job_that_has_ended_is_dead(self):
        daemon = self.daemon(servers(server("web")), "print(json.dumps([url, key]))\n")
        daemon.start()
        url, key = result_of(daemon.submit("--grant", "tool.call=web.*"))
        daemon.write("agent.py", AGENT + f'''
import urllib.error
try:
    ask("tools/list", {{}}, bearer="{key}")
except urllib.error.HTTPError as error:
    print(json.dumps([error.code, error.headers["WWW-Authenticate"]]))
''')
        self.assertEqual(result_of(daemon.submit("--grant", "tool.call=web.*")), [401, None])

    def test_check_config_says_what_servers_there_are(self):
        daemon = self.daemon(servers(server("web", ', env: {TOKEN: "of-the-server"}, prices: {"e*": "USD:0.5"}, '
                                                   'targets: {read: {fs.read: /of, net.fetch: /u}, x: {fs.write: ""}}'),
                                     f'    - {{name: files, command: [{SERVER}], scope: shared}}\n',
                                     more="  on_change: refuse\n"), "")
        done = daemon.check()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("arcpd: tools: web: one process for each job, not confined\n", done.stderr)
        self.assertIn("arcpd: tools: files: one process for all jobs, in a sandbox that grants nothing\n", done.stderr)
        self.assertIn('targets: {"read": {fs.read: "/of", net.fetch: "/u"}, "x": {fs.write: ""}}', done.stdout)
        self.assertIn('prices: {"e*": "USD:0.5"}', done.stdout)
        self.assertIn("on_change: refuse", done.stdout)
        self.assertNotIn("of-the-server", done.stdout)

    def test_check_config_refuses_what_cannot_be(self):
        for row, message in (("{name: web}", "needs name, and command"),
                             ("{name: We b, command: [x]}", "a name has 1 to 32 of a-z"),
                             ("{name: web, command: [x]}, {name: web, command: [y]}", "the same name"),
                             ("{name: web, command: [x], confine: false, lease: {fs.read: [/a]}}", "no effect"),
                             ("{name: web, command: [x], lease: {fs.read: [a, [b]]}}", "lease"),
                             ("{name: web, command: [x], lease: [a]}", "lease"),
                             ("{name: web, command: [x], prices: {a: 3}}", "like USD:0.01"),
                             ("{name: web, command: [x], targets: {a: {fs.list: /p}}}", "must be fs.read"),
                             ("{name: web, command: [x], targets: {a: {fs.read: p}}}", "JSON pointer"),
                             ("{name: web, command: [x], url: \"http://h/\"}", "or url"),
                             ("{name: web, url: \"ftp://h/\"}", "http:// or https://"),
                             ("{name: web, url: \"http://h/\", lease: {fs.read: [/a]}}", "with command"),
                             ("{name: web, command: [x], headers: {a: b}}", "with url"),
                             ("{name: web, url: \"http://h/\", headers: {\"a b\": c}}", "needs a name"),
                             ("{name: web, url: \"http://h/\", headers: {a: \"{file:/nowhere/a}\"}}", "/nowhere/a"),
                             ("{name: web, url: \"http://h/\", oauth: {client_id: c}}", "oauth needs"),
                             ("{name: web, command: [x], log: all}", "must be none, args or full"),
                             ("{name: web, command: [x], timeout_ms: 0}", "from 1 to")):
            daemon = self.daemon(f"  servers: [{row}]\n", "")
            done = daemon.check()
            self.assertEqual((done.returncode != 0, message in done.stderr), (True, True), done.stderr)


if __name__ == "__main__":
    BIN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
