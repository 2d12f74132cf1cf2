"""Providers that do everything wrong, clients that go away, and a reload during a call: whatever happens, arcpd goes on, and the
job pays what the answer reported, nothing for an error, and never less than that.

    tests/gateway/model_hostile_test.py BIN_DIR
"""
import decimal
import json
import os
import signal
import socket
import sys
import threading
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import key_arcpd_test as arcpd  # noqa: E402
import provider  # noqa: E402

COST = arcpd.COST
LIMIT = 20
OUTPUT = decimal.Decimal("0.000015")
# What a call costs: None is nothing at all; a pair is a range that it must be in.
FULL = (decimal.Decimal("0.001"), decimal.Decimal("0.01"))  # all that was held
COSTS = {"no-usage": FULL, "odd-usage": COST, "zero-usage": decimal.Decimal(0), "broken": FULL, "closes": FULL,
         "more": 100 * decimal.Decimal("0.000003") + (LIMIT + provider.MORE) * OUTPUT,
         "slow": COST, "wrong-model": COST, "bytes": COST, "gzip": COST, "429": None, "500": None, "529": None}


class Test(unittest.TestCase):
    def setUp(self):
        self.provider = provider.Provider()
        self.addCleanup(self.provider.__exit__)
        self.start(f"http://127.0.0.1:{self.provider.server_port}")

    def start(self, url):
        daemon = self.daemon = arcpd.Daemon(url)
        self.addCleanup(daemon.close)
        self.names = ["m", *("m--" + wrong for wrong in provider.WRONGS)]
        daemon.write("prices.json", json.dumps({name: arcpd.PRICE for name in self.names}))
        daemon.write("arcpd.yaml", daemon.text("arcpd.yaml").decode().replace("models: [m, n]", 'models: ["m*"]'))
        daemon.start()
        self.accepted = daemon.submit(models=["*"], budget="USD:100")
        self.key = arcpd.key_of(self.accepted)
        arcpd.until(self.key, 200)
        self.cost()

    def cost(self):
        """Of the next call that is recorded."""
        return self.daemon.wait("job.event", self.accepted["job_id"],
                                lambda payload: payload["body"].get("name") == "cost.inference")["payload"]["body"]["value"]

    def connect(self, body):
        """A client that has sent this call."""
        parts = urllib.parse.urlsplit(self.key["endpoint"])
        client = socket.create_connection((parts.hostname, parts.port), timeout=60)
        self.addCleanup(client.close)
        text = json.dumps({"max_tokens": LIMIT, "messages": [{"role": "user", "content": "ping"}], **body})
        client.sendall((f"POST /v1/chat/completions HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {self.key['value']}\r\n"
                        f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}").encode())
        return client

    @staticmethod
    def read(client):
        pieces = []
        while True:
            piece = client.recv(1 << 20)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)

    def expect(self, wrong, cost, what):
        if isinstance(cost, tuple):
            self.assertTrue(cost[0] <= what <= cost[1], (wrong, what))
        else:
            self.assertEqual(what, cost, wrong)

    def test_each_wrong_of_a_provider_costs_what_it_must_whole_and_streamed(self):
        self.assertEqual(set(COSTS), set(provider.WRONGS))
        for wrong, cost in COSTS.items():
            for is_streamed in (False, True):
                if wrong == "broken" and is_streamed:
                    continue  # it is charged by what arrived: model_call_test
                self.read(self.connect({"model": "m--" + wrong, "stream": is_streamed}))
                if cost is None:
                    continue
                if wrong == "no-usage" and is_streamed:
                    self.assertGreater(self.cost(), 0, "a stream without usage is not free")
                    continue
                self.expect((wrong, is_streamed), cost, self.cost())
        # Errors have cost nothing: the next cost is that of the next call.
        self.assertEqual(arcpd.call(self.key)[0], 200)
        self.assertEqual(self.cost(), COST)

    def test_a_stream_is_charged_also_when_its_client_has_gone_or_says_no_more(self):
        for leave in (lambda client: client.close(), lambda client: client.shutdown(socket.SHUT_WR),
                      lambda client: client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0") or client.close()):
            client = self.connect({"model": "m--slow", "stream": True})
            self.assertTrue(client.recv(1))
            leave(client)
            self.assertEqual(self.cost(), COST)

    def test_a_reload_during_a_call_leaves_it_its_price_and_holds_for_the_next(self):
        called, goes_on = threading.Event(), threading.Event()

        def wait(*_):
            called.set()
            goes_on.wait(60)
            return provider.Reply("pong")
        self.addCleanup(goes_on.set)
        self.provider.say = wait
        client = self.connect({"model": "m"})
        self.assertTrue(called.wait(60))
        dearer = {**arcpd.PRICE, "output_cost_per_token": 3e-05}
        self.daemon.write("prices.json", json.dumps({"m--bytes": dearer}))
        self.daemon.process.send_signal(signal.SIGHUP)
        # A model without a price is refused when the reload holds; before that, the provider refuses this one.
        arcpd.until(self.key, 403, model="m--429")
        goes_on.set()
        self.assertIn(b"pong", self.read(client))
        self.assertEqual(self.cost(), COST)
        self.assertEqual(arcpd.call(self.key, model="m--bytes")[0], 200)
        self.assertEqual(self.cost(), COST + 10 * OUTPUT)

    def test_an_event_that_is_too_long_to_be_read_passes_and_the_next_one_is_charged(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            def serve():
                for _ in range(2):
                    peer, _ = server.accept()
                    with peer:
                        while b"ping" not in peer.recv(65536):
                            pass
                        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                        usage = (b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],'
                                 b'"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}\n\ndata: [DONE]\n\n')
                        peer.sendall(head + b"data: " + b"x" * (9 << 20) + b"\n\n" + usage)
            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            other = arcpd.Daemon(f"http://127.0.0.1:{server.getsockname()[1]}")
            self.addCleanup(other.close)
            other.start()
            self.daemon, self.accepted = other, other.submit(budget="USD:100")
            self.key = arcpd.key_of(self.accepted)
            other.wait("job.event", self.accepted["job_id"])
            for _ in range(2):
                self.assertGreater(len(self.read(self.connect({"model": "m", "stream": True}))), 9 << 20)
                self.assertEqual(self.cost(), COST)
            thread.join(60)


if __name__ == "__main__":
    arcpd.BIN = sys.argv.pop(1)
    unittest.main()
