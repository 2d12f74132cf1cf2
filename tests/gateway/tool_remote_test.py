"""Servers of tools behind HTTP, played by this program, with arcpd's gateway in front of them.

    tests/gateway/tool_remote_test.py BIN_DIR
"""
import base64
import http.server
import json
import os
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import tool_arcpd_test as arcpd  # noqa: E402

TOOLS = [{"name": "echo", "inputSchema": {"type": "object", "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"}, "text": {"type": "string"},
    "more": {"type": "object", "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}}},
    "flag": {"type": "boolean", "x-mcp-header": "Flag"}}}},
         {"name": "slow", "inputSchema": {"type": "object"}}, {"name": "hang", "inputSchema": {"type": "object"}}]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if body:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def events(self, *messages, ends=True):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        for message in messages:
            for piece in (": a comment\r\nevent: message\r\ndata: ", json.dumps(message), "\r\n\r\n"):
                self.wfile.write(piece.encode())
                self.wfile.flush()
        self.close_connection = True

    def do_GET(self):
        self.server.note("GET", self.headers)
        if not self.server.has_stream:
            self.answer(405)
            return
        self.events()
        self.server.streams.append(self.wfile)
        self.server.over.wait()

    def do_DELETE(self):
        self.server.note("DELETE", self.headers)
        self.answer(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/token":
            self.server.note("token " + body.decode(), self.headers)
            self.answer(200, json.dumps({"access_token": f"t{self.server.tokens}", "token_type": "bearer"}).encode())
            return
        message = json.loads(body)
        self.server.note(message.get("method", "response"), self.headers, message)
        self.server.react(self, message)


class Server(http.server.ThreadingHTTPServer):
    """Each request and its headers are in `seen`; what it does is decided by its attributes."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen, self.streams, self.over = [], [], threading.Event()
        self.session, self.is_modern, self.has_stream, self.by_events = "s-1", False, False, False
        self.key, self.tokens, self.failing = None, 1, {}
        self.changed = threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.over.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """Clients that have left are a part of the tests."""

    def note(self, what, headers, message=None):
        with self.changed:
            self.seen.append((what, {name.lower(): value for name, value in headers.items()}, message))
            self.changed.notify_all()

    def methods(self):
        return [what for what, _, _ in self.seen]

    def of(self, method):
        return [(headers, message) for what, headers, message in self.seen if what == method]

    def wait(self, method):
        with self.changed:
            assert self.changed.wait_for(lambda: self.of(method), 60), (method, self.methods())

    def react(self, handler, message):
        method, headers = message.get("method"), handler.headers
        if self.key is not None and headers["Authorization"] != "Bearer " + self.key():
            handler.answer(401, b"no", "text/plain", WWW_Authenticate="Bearer")
        elif method in self.failing:
            self.failing[method](handler, message)
        elif method == "initialize" and not self.is_modern:
            handler.answer(200, self.result(message, {
                "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "r", "version": "1"}}),
                **({"Mcp_Session_Id": self.session} if self.session else {}))
        elif "id" not in message:
            handler.answer(202)
        elif self.session and not self.is_modern and headers["Mcp-Session-Id"] != self.session:
            handler.answer(404)
        elif method == "server/discover" and self.is_modern:
            handler.answer(200, self.result(message, {"resultType": "complete", "supportedVersions": ["2026-07-28"],
                                                      "capabilities": {}, "serverInfo": {"name": "r", "version": "1"}}))
        elif method == "tools/list":
            handler.answer(200, self.result(message, {"tools": TOOLS}))
        elif method == "tools/call":
            self.call(handler, message)
        else:
            handler.answer(400 if self.is_modern else 200, json.dumps(
                {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}}).encode())

    def call(self, handler, message):
        params = message["params"]
        done = {"jsonrpc": "2.0", "id": message["id"], "result": {
            "content": [{"type": "text", "text": json.dumps(params.get("arguments", {}))}]}}
        if params["name"] == "hang":
            self.over.wait()
        elif params["name"] == "slow":
            token = params.get("_meta", {}).get("progressToken")
            handler.events(*([{"jsonrpc": "2.0", "method": "notifications/progress",
                               "params": {"progressToken": token, "progress": 1}}] if token else []), done)
        elif self.by_events:
            handler.events(done)
        else:
            handler.answer(200, json.dumps(done).encode())

    @staticmethod
    def result(message, result):
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()


class Test(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)

    def daemon(self, agent, more=""):
        url = f"http://127.0.0.1:{self.server.server_port}"
        daemon = arcpd.Daemon("", agent)
        self.addCleanup(daemon.close)
        daemon.configure(f'  servers:\n    - {{name: far, url: "{url}/mcp"{more.replace("URL", url)}}}\n')
        daemon.start()
        return daemon

    def run_agent(self, agent, more="", **options):
        daemon = self.daemon(agent, more.replace("FILE", options.get("file", "")))
        return arcpd.result_of(daemon.submit("--grant", "tool.call=far.*"))

    def test_tools_are_called_in_a_session_which_ends_with_the_job(self):
        result = self.run_agent('print(json.dumps([names(), call("far__echo", {"text": "hi"})]))\n',
                                ', headers: {X-Mine: "of the configuration"}')
        self.assertEqual(result, [["far__echo", "far__hang", "far__slow"], [False, '{"text": "hi"}']])
        self.server.wait("DELETE")
        methods = self.server.methods()
        self.assertEqual([m for m in methods if m != "GET"],
                         ["initialize", "notifications/initialized", "tools/list", "tools/call", "DELETE"])
        self.assertLess(methods.index("notifications/initialized"), methods.index("GET"))
        first = self.server.of("initialize")[0][0]
        self.assertNotIn("mcp-session-id", first)
        for what, headers, _ in self.server.seen:
            self.assertEqual(headers["x-mine"], "of the configuration")
            self.assertNotIn("sk-arcp", json.dumps(headers))
            if what != "initialize":
                self.assertEqual((headers["mcp-session-id"], headers["mcp-protocol-version"]), ("s-1", "2025-06-18"))
            if what not in ("GET", "DELETE"):
                self.assertEqual(headers["accept"], "application/json, text/event-stream")

    def test_responses_and_progress_can_be_events(self):
        self.server.by_events = True
        result = self.run_agent('''
body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
    "name": "far__slow", "_meta": {"progressToken": "mine"}}}).encode()
request = urllib.request.Request(url, body, {"Authorization": "Bearer " + key, "Content-Type": "application/json",
                                             "Accept": "application/json, text/event-stream"})
with urllib.request.urlopen(request, timeout=60) as response:
    lines = [line.decode().strip() for line in response]
print(json.dumps([call("far__echo", {"text": "x"}), [json.loads(l[6:]) for l in lines if l.startswith("data: ")]]))
''')
        self.assertEqual(result[0], [False, '{"text": "x"}'])
        self.assertEqual(result[1][0]["params"], {"progressToken": "mine", "progress": 1})
        self.assertEqual(result[1][1]["id"], 7)

    def test_a_server_of_2026_07_28_gets_its_headers(self):
        self.server.is_modern = True
        result = self.run_agent('''
print(json.dumps(call("far__echo", {"region": "north", "text": "plain", "more": {"count": 3}, "flag": True})[0]))
call("far__echo", {"region": " \\u00fc"})
call("far__echo", {"region": None, "more": 1})
''')
        self.assertEqual(result, False)
        self.assertEqual(self.server.methods(), ["initialize", "server/discover", "tools/list"] + ["tools/call"] * 3)
        calls = [headers for headers, _ in self.server.of("tools/call")]
        self.assertEqual((calls[0]["mcp-protocol-version"], calls[0]["mcp-method"], calls[0]["mcp-name"]),
                         ("2026-07-28", "tools/call", "echo"))
        self.assertEqual((calls[0]["mcp-param-region"], calls[0]["mcp-param-count"], calls[0]["mcp-param-flag"]),
                         ("north", "3", "true"))
        self.assertNotIn("mcp-param-text", calls[0])
        self.assertEqual(calls[1]["mcp-param-region"], "=?base64?" + base64.b64encode(" \u00fc".encode()).decode() + "?=")
        self.assertFalse([name for name in calls[2] if name.startswith("mcp-param")])
        self.assertEqual(self.server.of("tools/list")[0][0]["mcp-method"], "tools/list")
        self.assertEqual(self.server.of("tools/call")[0][1]["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"],
                         "2026-07-28")

    def test_a_secret_of_a_file_is_read_again_after_401(self):
        directory = arcpd.tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = os.path.join(directory.name, "key")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf8") as file:
            file.write("first\n")
        self.server.key = lambda: "first"
        agent = f'''
first = call("far__echo")
open("{path}", "w").write("second")
second = call("far__echo", {{"text": "2"}})
open("{path}", "w").write("wrong")
print(json.dumps([first, second, names()]))
'''
        # The server changes its key when it sees the second call.
        def change(handler, message):
            self.server.key = lambda: "second"
            del self.server.failing["tools/call"]
            self.server.react(handler, message)
        self.server.failing["tools/call"] = lambda handler, message: (
            self.server.failing.__setitem__("tools/call", change), self.server.call(handler, message))
        result = self.run_agent(agent, f', headers: {{Authorization: "Bearer {{file:{path}}}"}}')
        self.assertEqual(result[:2], [[False, "{}"], [False, '{"text": "2"}']])
        calls = [headers["authorization"] for headers, _ in self.server.of("tools/call")]
        self.assertEqual(calls, ["Bearer first", "Bearer first", "Bearer second"])

    def test_a_token_is_requested_and_requested_again_after_401(self):
        self.server.key = lambda: f"t{self.server.tokens}"
        def expire(handler, message):
            del self.server.failing["tools/call"]
            self.server.tokens = 2
            self.server.react(handler, message)
        self.server.failing["tools/call"] = expire
        result = self.run_agent(
            'print(json.dumps(call("far__echo", {"text": "x"})))\n',
            ', oauth: {token_url: "URL/token", client_id: "me:1", client_secret: "s e", scope: "a b"}')
        self.assertEqual(result, [False, '{"text": "x"}'])
        asked = self.server.of("token grant_type=client_credentials&scope=a%20b")
        self.assertEqual([headers["authorization"] for headers, _ in asked],
                         ["Basic " + base64.b64encode(b"me%3A1:s%20e").decode()] * 2)
        self.assertEqual([headers["authorization"] for headers, _ in self.server.of("tools/call")],
                         ["Bearer t1", "Bearer t2"])

    def test_a_call_that_fails_is_an_error_and_is_not_sent_again(self):
        def lose(handler, message):
            handler.close_connection = True
            handler.connection.close()
        def fail(handler, message):
            handler.answer(503, b"busy", "text/plain")
            self.server.failing["tools/call"] = lose
        self.server.failing["tools/call"] = fail
        result = self.run_agent('''
print(json.dumps([ask("tools/call", {"name": "far__echo"})["error"]["message"] for _ in range(2)]))
''')
        self.assertIn("HTTP status 503", result[0])
        self.assertIn("the server ", result[1])
        self.assertEqual(len(self.server.of("tools/call")), 2)

    def test_a_server_that_cannot_be_reached_is_left_out_of_the_list(self):
        self.server.failing["initialize"] = lambda handler, message: handler.answer(503)
        result = self.run_agent('print(json.dumps([names(), call("far__echo")[1]]))\n')
        self.assertEqual(result[0], [])
        self.assertIn("HTTP status 503", result[1])

    def test_a_session_that_has_ended_is_begun_again_for_later_calls(self):
        def forget(handler, message):
            del self.server.failing["tools/call"]
            self.server.session = "s-2"
            self.server.react(handler, message)
        self.server.failing["tools/call"] = forget
        result = self.run_agent('''
import time
lost = call("far__echo")
while call("far__echo")[0]:
    time.sleep(0.05)
print(json.dumps([lost, call("far__echo")]))
''')
        self.assertTrue(result[0][0])
        self.assertIn("ended the session", result[0][1])
        self.assertEqual(result[1], [False, "{}"])
        self.assertEqual([headers.get("mcp-session-id") for headers, _ in self.server.of("tools/call")][:1], ["s-1"])
        self.assertEqual(len(self.server.of("initialize")), 2)

    def test_a_call_that_is_cancelled_is_cancelled_at_the_server(self):
        daemon = self.daemon('''
import http.client, urllib.parse
there = urllib.parse.urlsplit(url)
connection = http.client.HTTPConnection(there.hostname, there.port)
connection.request("POST", "/", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "far__hang"}}),
                   {"Authorization": "Bearer " + key, "Content-Type": "application/json", "Accept": "application/json"})
connection.close()
print(json.dumps(names()))
''')
        self.assertEqual(len(arcpd.result_of(daemon.submit("--grant", "tool.call=far.*"))), 3)
        if self.server.of("tools/call"):
            self.server.wait("notifications/cancelled")
            call = self.server.of("tools/call")[0][1]
            self.assertEqual(self.server.of("notifications/cancelled")[0][1]["params"]["requestId"], call["id"])

    def test_a_list_is_read_again_when_the_stream_says_so(self):
        self.server.has_stream = True
        daemon = self.daemon('''
import time
while "far__late" not in names():
    time.sleep(0.05)
print(json.dumps(names()))
''')
        def change():
            self.server.wait("GET")
            while not self.server.streams or not self.server.of("tools/list"):
                self.server.over.wait(0.01)
            TOOLS.append({"name": "late", "inputSchema": {"type": "object"}})
            self.addCleanup(TOOLS.pop)
            self.server.streams[0].write(b'data: {"jsonrpc": "2.0",\ndata: "method": "notifications/tools/list_changed"}\n\n')
            self.server.streams[0].flush()
        threading.Thread(target=change, daemon=True).start()
        self.assertIn("far__late", arcpd.result_of(daemon.submit("--grant", "tool.call=far.*")))


if __name__ == "__main__":
    arcpd.BIN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
