#!/usr/bin/env python3
"""The helpers for agents, played by a stand-in for arcpd: every test with each of them, in `mode: arcp` and in
`mode: serve`.

    tests/helpers/helpers_test.py SHARE_DIR [TEST...]

SHARE_DIR has arcp_agent.py and arcp-agent.mjs. The agents do the same things; so the lines are the same.
"""
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SHARE = ""
START = {"job_id": "job_1", "agent": "a@1.0.0", "lease": {"fs.read": ["/srv/**"]}, "trace_id": "t",
         "traceparent": "tp", "features": [], "cwd": "/job", "budget": {"USD": 4.5},
         "credentials": [{"id": "c", "value": "old"}]}
DENIED = {"code": "PERMISSION_DENIED", "message": "no", "retryable": False, "details": {"granted": ["/srv/**"]}}

ENDS = ("job.result", "job.error")
PATIENCE_SEC = 60  # with an agent that waits for ever


class Agent:
    """A started agent; `lines` are those that it wrote. A served one (`job_id` is set) is told the job with each
    line, and says it with each."""

    def __init__(self, command, environment, do, before=b"", start=START, job_id=None):
        self.job_id = job_id
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env={**os.environ, **environment})
        self.watchdog = threading.Timer(PATIENCE_SEC, self.process.kill)
        self.watchdog.start()
        self.lines = []
        self.write(before)
        self.send("job.start", {**start, "input": {"do": do}})

    def send(self, kind, payload, re=None):
        line = {"type": kind, "payload": payload} if re is None else {"type": kind, "re": re, "payload": payload}
        if self.job_id is not None:
            line["job_id"] = self.job_id
        self.write(json.dumps(line).encode() + b"\n")

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self):
        raw = self.process.stdout.readline()
        assert raw.endswith(b"\n"), (raw, self.process.stderr.read())
        return self.take(raw)

    def take(self, raw):
        line = {**json.loads(raw), "raw": raw.decode()}
        assert line.pop("job_id", None) == self.job_id, raw
        self.lines.append(line)
        return line

    def reply(self, line, payload):
        self.send("reply", payload, line["id"])

    def finish(self):
        """The last line, once the agent has ended by itself, or the served job has, and standard error."""
        while self.job_id is not None and not (self.lines and self.lines[-1]["type"] in ENDS):
            self.read()
        if self.job_id is not None and not self.process.stdin.closed:
            self.process.stdin.close()
        rest, errors = self.process.stdout.read(), self.process.stderr.read()
        self.process.wait(timeout=30)
        for raw in rest.splitlines():
            self.take(raw)
        assert self.process.returncode == 0, errors
        return self.lines[-1], errors.decode()


class Helpers:
    """What each helper must do. `command` and `environment` start its agents."""
    command = []
    environment = {}

    job_id = None

    def start(self, do, before=b"", start=START):
        agent = Agent(self.command, self.environment, do, before, start, self.job_id)
        self.addCleanup(agent.process.wait)
        for pipe in (agent.process.stdout, agent.process.stderr, agent.process.stdin):
            self.addCleanup(pipe.close)
        self.addCleanup(agent.process.kill)
        self.addCleanup(agent.watchdog.cancel)
        return agent

    def bodies(self, agent, kind):
        return [line["payload"]["body"] for line in agent.lines
                if line["type"] == "job.event" and line["payload"]["kind"] == kind]

    def test_events_and_a_result_and_what_is_printed_is_on_standard_error(self):
        agent = self.start("echo")
        end, errors = agent.finish()
        self.assertEqual([line["type"] for line in agent.lines], ["job.event", "job.event", "job.result"])
        self.assertEqual(self.bodies(agent, "log"), [{"level": "warn", "message": "a\nline"}])
        self.assertEqual(self.bodies(agent, "progress"), [{"current": 1, "total": 2, "units": "files"}])
        self.assertEqual(end["payload"], {"result": {"input": {"do": "echo"}, "cwd": "/job", "id": "job_1",
                                                     "lease": {"fs.read": ["/srv/**"]}}})
        self.assertEqual(errors, "a print\n")

    def test_members_that_are_null_are_absent(self):
        nulls = {name: None for name in (*START, "lease_constraints", "endpoints", "parent_job_id")}
        agent = self.start("spend", start={**nulls, "job_id": "job_2", "budget": {"USD": 4.5}})
        line = {"type": "reply", "re": agent.read()["id"], "job_id": self.job_id,  # null in `mode: arcp`
                "payload": {"error": None, "budget": None, "job_id": None}}
        agent.write(json.dumps(line).encode() + b"\n")
        self.assertEqual(agent.finish()[0]["payload"], {"result": ["4.5", "4.5", "4.5"]})
        end = self.start("echo", start=nulls).finish()[0]["payload"]["result"]
        self.assertEqual((end["lease"], end["cwd"]), ({}, None))

    def test_a_question_is_answered_with_what_the_runtime_says(self):
        agent = self.start("ask")
        first = agent.read()
        self.assertEqual(first["payload"], {"capability": "fs.read", "target": "/srv/a"})
        agent.send("reply", {"allow": False}, "another id")  # is ignored
        agent.reply(first, {"allow": True, "unknown": 1})
        agent.reply(agent.read(), {"error": DENIED})
        self.assertEqual(agent.finish()[0]["payload"], {"result": False})

    def test_an_answer_that_does_not_say_allow_is_a_denial(self):
        agent = self.start("wait_for_reply")
        agent.reply(agent.read(), {})
        self.assertEqual(agent.finish()[0]["payload"]["code"], "PERMISSION_DENIED")

    def test_a_denial_that_nobody_catches_is_the_error_of_the_job(self):
        agent = self.start("denied")
        agent.reply(agent.read(), {"error": DENIED})
        end = agent.finish()[0]
        self.assertEqual(self.bodies(agent, "log")[0]["message"], "PERMISSION_DENIED ['/srv/**']")
        self.assertEqual((end["type"], end["payload"]), ("job.error", DENIED))

    def test_amounts_are_exact_in_both_directions_and_no_float_is_taken(self):
        agent = self.start("spend")
        line = agent.read()
        self.assertIn('"value":0.1234567890123456789,', line["raw"])
        self.assertEqual(line["payload"]["body"]["name"], "cost.search")
        name = b"" if self.job_id is None else b'"job_id":"%s",' % self.job_id.encode()
        agent.write(b'{"type":"reply","re":"%s",%s"payload":{"budget":{"USD":4.3765432109876543211}}}\n'
                    % (line["id"].encode(), name))
        self.assertEqual(agent.finish()[0]["payload"]["result"],
                         ["4.5", "4.3765432109876543211", "4.3765432109876543211"])
        self.assertEqual(self.bodies(agent, "log")[0]["message"], "no float")

    def test_a_tool_call_is_a_request_and_its_end_is_recorded(self):
        agent = self.start("tools")
        call = agent.read()
        self.assertEqual(call["payload"]["body"], {"tool": "web.search", "args": {"q": "x"}, "call_id": "call-1"})
        agent.reply(call, {})
        self.assertEqual(agent.read()["payload"]["body"], {"call_id": "call-1", "result": ["found"]})
        agent.reply(agent.read(), {})
        self.assertEqual(agent.read()["payload"]["body"], {
            "call_id": "call-2", "error": {"code": "INTERNAL_ERROR", "message": "ValueError: no network"}})
        agent.reply(agent.read(), {"error": DENIED})
        self.assertEqual(agent.finish()[0]["payload"]["code"], "PERMISSION_DENIED")
        self.assertEqual(len(self.bodies(agent, "tool_result")), 2)  # the runtime records the denial
        self.assertEqual(self.bodies(agent, "log"), [])

    def test_children(self):
        agent = self.start("delegate")
        line = agent.read()
        self.assertEqual(line["payload"], {
            "agent": "reader", "input": {"path": "/a"}, "lease_request": {"fs.read": ["/a"]},
            "lease_constraints": {"expires_at": "2030-01-01T00:00:00Z"}, "wait": True})
        agent.reply(line, {"job_id": "job_2", "final_status": "success", "result": 7})
        line = agent.read()
        self.assertEqual(line["payload"], {"agent": "reader", "input": None, "delegate_id": "d2", "wait": True})
        agent.reply(line, {"job_id": "job_3", "final_status": "error", "error": {"code": "TIMEOUT", "message": ""}})
        agent.reply(agent.read(), {"error": {"code": "LEASE_SUBSET_VIOLATION", "message": "wider",
                                             "retryable": False}})
        self.assertEqual(agent.finish()[0]["payload"]["code"], "LEASE_SUBSET_VIOLATION")

    def test_a_stream_is_cut_into_pieces_of_which_only_the_last_is_the_last(self):
        agent = self.start("stream")
        pieces = []
        while not pieces or pieces[-1]["more"]:
            line = agent.read()
            self.assertEqual(line["type"], "result.chunk")
            pieces.append(line["payload"])
            agent.reply(line, {})
        text = "".join(piece["data"] for piece in pieces if piece["encoding"] == "utf8")
        self.assertEqual(text, "é" * 300_000 + "end")
        self.assertEqual([piece["data"] for piece in pieces if piece["encoding"] == "base64"], ["AP8B"])
        self.assertTrue(all(len(piece["data"].encode()) <= 1 << 20 for piece in pieces))
        self.assertEqual(agent.finish()[0]["payload"], {"summary": "four pieces"})

    def test_a_piece_that_is_refused_ends_the_job(self):
        agent = self.start("stream")
        agent.reply(agent.read(), {"error": {"code": "RESOURCE_EXHAUSTED", "message": "too much", "retryable": False}})
        self.assertEqual(agent.finish()[0]["payload"]["code"], "RESOURCE_EXHAUSTED")

    def test_a_cancelled_job_ends_as_cancelled_with_the_text_of_the_canceller(self):
        agent = self.start("cancel")
        agent.read()
        agent.send("job.cancel", {"reason": "client", "message": "no longer needed", "grace_ms": 3000})
        end = agent.finish()[0]
        self.assertEqual((end["type"], end["payload"]),
                         ("job.error", {"code": "CANCELLED", "message": "no longer needed"}))

    def test_credentials_are_replaced(self):
        agent = self.start("rotate")
        line = agent.read()
        agent.send("job.credentials", {"credentials": [{"id": "c", "value": "new"}]})
        agent.reply(line, {"allow": True})
        self.assertEqual(agent.finish()[0]["payload"], {"result": ["new"]})

    def test_lines_that_are_no_objects_are_reported_and_skipped(self):
        bad = [b"garbage", b"null", b"[]", b'{"type":"job.cancel","payload":3}']
        agent = self.start("rotate", before=b"".join(line + b"\n" for line in bad))
        line = agent.read()
        agent.write(b"".join(one + b"\n" for one in bad))
        agent.send("job.credentials", None)  # of no credentials
        agent.reply(line, {"allow": True})
        end, errors = agent.finish()
        self.assertEqual((end["type"], end["payload"]), ("job.result", {"result": []}))
        said = [one for one in errors.splitlines()
                if one.startswith("arcp-agent: arcpd sent a line that is not an object: ")]
        self.assertEqual(len(said), 2 * len(bad), errors)
        self.assertIn("garbage", said[0])

    def test_an_exception_is_an_internal_error_and_its_traceback_is_on_standard_error(self):
        end, errors = self.start("crash").finish()
        self.assertEqual(end["payload"], {"code": "INTERNAL_ERROR", "message": "KeyError: 'no such thing'"})
        self.assertIn("agent_", errors)  # the file's name

    def test_a_result_that_is_no_json_is_an_internal_error(self):
        end, _ = self.start("bad_result").finish()
        self.assertEqual((end["type"], end["payload"]["code"]), ("job.error", "INTERNAL_ERROR"))

    def test_an_error_of_the_agents_own(self):
        end, _ = self.start("fail").finish()
        self.assertEqual(end["payload"], {"code": "x-vendor.example.BUSY", "message": "try again",
                                          "retryable": True, "details": {"retry_after_ms": 5}})

    def test_lines_that_many_write_at_once_are_whole(self):
        agent = self.start("many")
        agent.finish()
        self.assertEqual(len(agent.lines), 801)
        for number in range(8):
            values = [one["value"] for one in self.bodies(agent, "metric") if one["name"] == f"m{number}"]
            self.assertEqual(values, [i / 10 for i in range(100)])

    def test_a_call_that_waits_ends_when_arcpd_goes(self):
        agent = self.start("wait_for_reply")
        agent.read()
        agent.process.stdin.close()
        end, _ = agent.finish()
        self.assertEqual(end["payload"]["code"], "CANCELLED")

    def test_started_by_hand_on_a_terminal_it_says_what_it_is(self):
        ours, theirs = pty.openpty()
        done = subprocess.run(self.command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, **self.environment}, timeout=30, check=False)
        os.close(ours)
        os.close(theirs)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"This program is an agent: arcpd starts it for each job", done.stderr)


class Threads(Helpers, unittest.TestCase):
    def setUp(self):
        self.command = [sys.executable, "-B", os.path.join(HERE, "agent_threads.py")]
        self.environment = {"PYTHONPATH": SHARE}


class Asyncio(Helpers, unittest.TestCase):
    def setUp(self):
        self.command = [sys.executable, "-B", os.path.join(HERE, "agent_asyncio.py")]
        self.environment = {"PYTHONPATH": SHARE}


@unittest.skipUnless(shutil.which("node"), "there is no node")
class Node(Helpers, unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        package = os.path.join(folder.name, "node_modules", "arcp-agent")
        shutil.copytree(os.path.join(os.path.dirname(os.path.dirname(HERE)), "helpers", "node"), package)
        shutil.copy(os.path.join(HERE, "agent_node.mjs"), folder.name)
        self.command = ["node", os.path.join(folder.name, "agent_node.mjs")]


class Served(Helpers):
    """What each helper must do with several jobs at the same time, beside all of the above."""
    job_id = "job_1"

    def begin(self, agent, job_id, do):
        agent.job_id = job_id
        agent.send("job.start", {**START, "job_id": job_id, "input": {"do": do}})
        agent.job_id = self.job_id

    def read_all(self, agent, count):
        """The next lines, by job."""
        lines = {}
        for _ in range(count):
            line = json.loads(agent.process.stdout.readline())
            lines.setdefault(line["job_id"], []).append(line)
        return lines

    def answer(self, agent, job_id, line, payload):
        agent.job_id = job_id
        agent.send("reply", payload, line["id"])
        agent.job_id = self.job_id

    def test_jobs_run_side_by_side_and_each_gets_its_own_replies(self):
        agent = self.start("wait_for_reply")
        self.begin(agent, "job_2", "wait_for_reply")
        self.begin(agent, "job_3", "echo")
        lines = self.read_all(agent, 5)
        self.assertEqual([line["type"] for line in lines["job_3"]], ["job.event", "job.event", "job.result"])
        self.answer(agent, "job_2", lines["job_2"][0], {"error": DENIED})
        self.answer(agent, "job_1", lines["job_1"][0], {"allow": True})
        ends = self.read_all(agent, 2)
        self.assertEqual(ends["job_1"][0]["payload"], {"result": None})
        self.assertEqual(ends["job_2"][0]["payload"]["code"], "PERMISSION_DENIED")

    def test_a_cancel_ends_one_job_and_no_other(self):
        agent = self.start("wait_for_reply")
        waiting = agent.read()
        self.begin(agent, "job_2", "cancel")
        self.read_all(agent, 1)
        agent.job_id = "job_2"
        agent.send("job.cancel", {"reason": "client", "grace_ms": 3000})
        agent.job_id = self.job_id
        self.assertEqual(self.read_all(agent, 1)["job_2"][0]["payload"], {"code": "CANCELLED", "message": "client"})
        agent.reply(waiting, {"allow": True})
        self.assertEqual(agent.finish()[0]["payload"], {"result": None})

    def test_a_cancelled_job_waits_for_no_reply_once_its_grace_is_over(self):
        agent = self.start("wait_for_reply")
        agent.read()
        agent.send("job.cancel", {"reason": "timeout", "grace_ms": 1})
        self.assertEqual(agent.finish()[0]["payload"]["code"], "CANCELLED")

    def test_lines_for_a_job_that_has_ended_are_ignored(self):
        agent = self.start("echo")
        self.read_all(agent, 3)
        agent.send("job.cancel", {"reason": "client", "grace_ms": 0})
        agent.send("reply", {"allow": True}, "1")
        self.begin(agent, "job_2", "echo")
        self.assertEqual(len(self.read_all(agent, 3)["job_2"]), 3)

    def test_a_job_that_is_cancelled_as_it_starts_still_ends(self):
        agent = self.start("echo")
        self.read_all(agent, 3)
        start = {"type": "job.start", "job_id": "job_2", "payload": {**START, "input": {"do": "cancel"}}}
        cancel = {"type": "job.cancel", "job_id": "job_2", "payload": {"reason": "client", "grace_ms": 3000}}
        agent.write(json.dumps(start).encode() + b"\n" + json.dumps(cancel).encode() + b"\n")
        last = {"type": ""}
        while last["type"] not in ENDS:
            last = self.read_all(agent, 1)["job_2"][0]
        self.assertEqual(last["payload"]["code"], "CANCELLED")

    def test_a_hundred_jobs_one_after_the_other_and_at_once(self):
        agent = self.start("echo")
        for number in range(2, 101):
            self.begin(agent, f"job_{number}", "echo")
        lines = self.read_all(agent, 300)
        self.assertEqual({len(one) for one in lines.values()}, {3})
        self.assertEqual([one[-1]["type"] for one in lines.values()], ["job.result"] * 100)

    def test_what_runs_when_arcpd_goes_is_cancelled(self):
        agent = self.start("wait_for_reply")
        self.begin(agent, "job_2", "wait_for_reply")
        self.read_all(agent, 2)
        agent.process.stdin.close()
        ends = self.read_all(agent, 2)
        self.assertEqual({job: one[0]["payload"]["code"] for job, one in ends.items()},
                         {"job_1": "CANCELLED", "job_2": "CANCELLED"})
        self.assertEqual(agent.process.stdout.read(), b"")
        self.assertEqual(agent.process.wait(timeout=30), 0)


class ServedPython(Served):
    def test_nothing_is_kept_of_jobs_that_have_ended(self):
        agent = self.start("echo")
        for number in range(2, 101):
            self.begin(agent, f"job_{number}", "echo")
        self.read_all(agent, 300)
        self.begin(agent, "job_101", "cancel")
        self.read_all(agent, 1)
        agent.job_id = "job_101"
        agent.send("job.cancel", {"reason": "client", "grace_ms": 3000})
        agent.job_id = self.job_id
        self.read_all(agent, 1)
        for number in range(100):  # a thread still ends its job when the last line was written
            self.begin(agent, f"look_{number}", "kept")
            kept = self.read_all(agent, 1)[f"look_{number}"][0]["payload"]["result"]
            if kept == [1, 0]:
                break
        self.assertEqual(kept, [1, 0], "jobs, and timers of cancelled ones")


class ServedThreads(ServedPython, Threads):
    pass


class ServedAsyncio(ServedPython, Asyncio):
    pass


class ServedNode(Served, Node):
    pass


if __name__ == "__main__":
    SHARE = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=0)
