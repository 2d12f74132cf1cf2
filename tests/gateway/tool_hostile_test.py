"""Servers of tools that do what they must not, behind arcpd's gateway: each call has one end, the agent gets only its own
results, and calls to other servers are not affected.

    tests/gateway/tool_hostile_test.py BIN_DIR
"""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import tool_arcpd_test as arcpd  # noqa: E402

SERVER = os.path.join(HERE, "tool_hostile_server.py")
# A call whose client wants progress, and all that came.
STREAM = '''
def stream(name):
    body = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
                       "params": {"name": name, "_meta": {"progressToken": "mine"}}}).encode()
    request = urllib.request.Request(url, body, {"Authorization": "Bearer " + key, "Content-Type": "application/json",
                                                 "Accept": "application/json, text/event-stream"})
    with urllib.request.urlopen(request, timeout=60) as response:
        text = response.read().decode()
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")] or [json.loads(text)]
'''


class Test(unittest.TestCase):
    def run_agent(self, agent, tools=0, row="", more=""):
        bad = (f'    - {{name: bad, command: ["{sys.executable}", "-B", "{SERVER}", "{tools}"], confine: false{row}}}\n')
        daemon = arcpd.Daemon(arcpd.servers(bad, arcpd.server("good"), more=more), STREAM + agent)
        self.addCleanup(daemon.close)
        daemon.start()
        lines = daemon.submit("--grant", "tool.call=**")
        return arcpd.result_of(lines), lines

    def test_results_and_progress_for_others_are_dropped(self):
        result, _ = self.run_agent('''
print(json.dumps([call("bad__others"), call("bad__twice"), call("bad__echo"), stream("bad__others"), call("good__echo")]))
''')
        self.assertEqual(result[:3], [[False, "others"], [False, "twice"], [False, "echo"]])
        self.assertEqual([one.get("method") for one in result[3] if "method" in one], [])
        self.assertEqual(result[4], [False, "echo {}"])

    def test_progress_is_the_calls_own_and_ends_with_its_result(self):
        result, _ = self.run_agent('''
print(json.dumps([[stream("bad__flood")[i] for i in (0, -1)], call("good__echo")]))
''')
        first, last = result[0]
        self.assertEqual((first["params"]["progressToken"], last["id"], result[1]), ("mine", 5, [False, "echo {}"]))

    def test_a_server_asks_for_nothing(self):
        result, _ = self.run_agent('print(json.dumps([call("bad__asks"), call("bad__input")]))\n')
        self.assertEqual(result[0], [False, "[-32601, -32601, -32601, null]"])
        self.assertTrue(result[1][0])
        self.assertIn("asks for input", result[1][1])

    def test_a_call_without_end_ends_although_it_reports_progress(self):
        result, _ = self.run_agent('print(json.dumps([call("bad__endless"), stream("bad__endless")[-1], call("good__echo")]))\n',
                                   row=", timeout_ms: 500, total_ms: 1500")
        self.assertIn("did not respond in time", result[0][1])
        self.assertTrue(result[1]["result"]["isError"])
        self.assertEqual(result[2], [False, "echo {}"])

    def test_messages_that_are_too_long_or_ambiguous_are_errors(self):
        result, _ = self.run_agent('''
lost = [ask("tools/call", {"name": "bad__" + name}) for name in ("garbage", "long")]
print(json.dumps([lost, call("good__echo")]))
''')
        for lost in result[0]:
            self.assertTrue("error" in lost or lost["result"]["isError"], lost)
        self.assertEqual(result[1], [False, "echo {}"])

    def test_a_list_has_a_limit(self):
        result, _ = self.run_agent('''
listed = names()
print(json.dumps([len(listed), len(set(listed)), max(len(name) for name in listed)]))
''', tools=5000)
        self.assertEqual(result[0], result[1])
        self.assertLessEqual(result[0], 2048)
        self.assertLessEqual(result[2], 48)

    def test_a_definition_that_changes_is_reported_or_refused(self):
        agent = '''
names()
call("bad__change")
after = names()
print(json.dumps(["bad__echo" in after, call("bad__echo")]))
'''
        result, lines = self.run_agent(agent)
        self.assertEqual(result, [True, [False, "echo"]])
        self.assertIn("the definition of the tool bad.echo has changed",
                      [body["message"] for body in arcpd.events(lines, "log")])
        result, _ = self.run_agent(agent, more="  on_change: refuse\n")
        self.assertEqual((result[0], result[1][0]), (False, True))


if __name__ == "__main__":
    arcpd.BIN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
