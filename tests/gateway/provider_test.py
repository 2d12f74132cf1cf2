"""Tests of provider.py: what it answers on each route, and what it does wrong when a model's name says so."""
import gzip
import http.client
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import provider  # noqa: E402

provider.SLOW_SEC = 0.01
ROUTES = {"/v1/chat/completions": {"messages": [], "max_tokens": 5, "stream_options": {"include_usage": True}},
          "/v1/responses": {"input": "ping", "max_output_tokens": 5},
          "/v1/messages": {"messages": [], "max_tokens": 5}}
OUTPUT = {"/v1/chat/completions": "completion_tokens", "/v1/responses": "output_tokens",
          "/v1/messages": "output_tokens"}


def usages(value):
    """All members `usage` of a JSON value that are not null."""
    if isinstance(value, list):
        return [found for one in value for found in usages(one)]
    if not isinstance(value, dict):
        return []
    own = [value["usage"]] if value.get("usage") else []
    return own + [found for one in value.values() for found in usages(one)]


def events(body):
    data = [line[6:] for line in body.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(one) for one in data if one != "[DONE]"]


class Base(unittest.TestCase):
    def setUp(self):
        self.provider = provider.Provider()
        self.connection = http.client.HTTPConnection("127.0.0.1", self.provider.server_port, timeout=30)

    def tearDown(self):
        self.connection.close()
        self.provider.__exit__()

    def ask(self, path, wrong=None, **more):
        request = {"model": "m" if wrong is None else f"m--{wrong}", **ROUTES.get(path, {}), **more}
        self.connection.request("POST", path, json.dumps(request), {"Content-Type": "application/json"})
        return self.connection.getresponse()

    def read(self, path, wrong=None, stream=False):
        """The objects of an answer: one, or those of the events."""
        body = self.ask(path, wrong, stream=stream).read()
        return events(body) if stream else [json.loads(body)]

    def each(self):
        for path in ROUTES:
            for stream in (False, True):
                with self.subTest(path=path, stream=stream):
                    yield path, stream


class Answers(Base):
    def test_an_answer_ends_with_its_usage(self):
        for path, stream in self.each():
            found = usages(self.read(path, stream=stream))
            self.assertEqual(provider.USAGE[1], found[-1][OUTPUT[path]])

    def test_a_chat_that_does_not_ask_for_usage_gets_none(self):
        body = self.ask("/v1/chat/completions", stream=True, stream_options=None).read()
        self.assertNotIn(b"usage", body)

    def test_embeddings_and_counts(self):
        answer = json.loads(self.ask("/v1/embeddings", input=["a", "b"]).read())
        self.assertEqual([[1.0, -0.5]] * 2, [one["embedding"] for one in answer["data"]])
        counted = json.loads(self.ask("/v1/messages/count_tokens").read())
        self.assertEqual({"input_tokens": provider.USAGE[0]}, counted)

    def test_a_reply_may_call_a_tool(self):
        self.provider.say = lambda *_: provider.Reply(None, "look", {"at": "x"})
        for path, stream in self.each():
            text = json.dumps(self.read(path, stream=stream))
            self.assertIn("look", text)
            self.assertIn("at", text)

    def test_requests_are_counted(self):
        self.ask("/v1/messages").read()
        self.connection.request("GET", "/requests")
        self.assertEqual({"/v1/messages": 1}, json.loads(self.connection.getresponse().read()))


class Wrongs(Base):
    def test_usage_may_be_missing(self):
        for path, stream in self.each():
            self.assertEqual([], usages(self.read(path, "no-usage", stream)))

    def test_usage_may_come_more_than_once(self):
        for path in ROUTES:
            found = usages(self.read(path, "odd-usage", True))
            self.assertGreater(len(found), 1)
            self.assertNotEqual(provider.USAGE[1], found[0][OUTPUT[path]])
            self.assertEqual(provider.USAGE[1], found[-1][OUTPUT[path]])

    def test_usage_may_be_zero(self):
        for path, stream in self.each():
            self.assertEqual(0, usages(self.read(path, "zero-usage", stream))[-1][OUTPUT[path]])

    def test_more_may_be_used_than_the_limit(self):
        for path, stream in self.each():
            found = usages(self.read(path, "more", stream))[-1][OUTPUT[path]]
            self.assertEqual(5 + provider.MORE, found)

    def test_an_answer_may_break_off(self):
        for path, stream in self.each():
            with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
                self.read(path, "broken", stream)
            self.connection.close()

    def test_a_kept_connection_may_close_without_an_answer(self):
        for path, stream in self.each():
            self.read(path, None, stream)
            with self.assertRaises((http.client.RemoteDisconnected, ConnectionError)):
                self.read(path, "closes", stream)
            self.connection.close()
        self.assertEqual(12, len(self.provider.requests))

    def test_statuses(self):
        for wrong in ("429", "500", "529"):
            answer = self.ask("/v1/messages", wrong)
            self.assertEqual((int(wrong), "1"), (answer.status, answer.headers["Retry-After"]))
            self.assertEqual("error", json.loads(answer.read())["type"])

    def test_another_model_may_answer(self):
        for path, stream in self.each():
            self.assertIn("another-model", json.dumps(self.read(path, "wrong-model", stream)))

    def test_slow_and_bytes_change_no_byte(self):
        for path, stream in self.each():
            for wrong in ("bytes", "slow") if stream else ("bytes",):
                self.assertEqual(len(self.read(path, None, stream)), len(self.read(path, wrong, stream)))

    def test_gzip(self):
        for path, stream in self.each():
            answer = self.ask(path, "gzip", stream=stream)
            self.assertEqual("gzip", answer.headers["Content-Encoding"])
            self.assertIn(b"usage", gzip.decompress(answer.read()))

    def test_each_wrong_has_a_test(self):
        with open(os.path.abspath(__file__), encoding="utf-8") as file:
            text = file.read()
        for wrong in provider.WRONGS:
            self.assertIn(f'"{wrong}"', text)


if __name__ == "__main__":
    unittest.main()
