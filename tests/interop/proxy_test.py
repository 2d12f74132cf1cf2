"""Tests of proxy.py: recorded frames, and cuts."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import checkouts  # noqa: E402
import proxy  # noqa: E402
from programs import NotRun  # noqa: E402

UPGRADE = b"GET /arcp HTTP/1.1\r\nHost: x\r\n\r\n"
PATIENCE_SEC = 20


def frame(text, opcode=0x81, mask=b""):
    size = len(text)
    wide = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big") if size < 65536 else b"\x7f" + size.to_bytes(8, "big")
    if mask:
        text = bytes(byte ^ mask[at % 4] for at, byte in enumerate(text))
    return bytes([opcode, wide[0] | (0x80 if mask else 0)]) + wide[1:] + mask + text


class Messages(unittest.TestCase):
    def read(self, data, step=None):
        messages = proxy.Messages()
        step = step or len(data)
        return [text for at in range(0, len(data), step) for text in messages.feed(data[at:at + step])]

    def test_messages_of_every_size_come_out_as_they_were(self):
        for size in (0, 1, 125, 126, 65535, 65536):
            for mask in (b"", b"\x01\x02\x03\x04"):
                self.assertEqual(self.read(UPGRADE + frame(b"x" * size, mask=mask)), [b"x" * size])

    def test_messages_come_out_whatever_the_pieces_in_which_they_arrive(self):
        data = UPGRADE + frame(b"one") + frame(b"two" * 100, mask=b"abcd")
        for step in (1, 2, 7):
            self.assertEqual(self.read(data, step), [b"one", b"two" * 100])

    def test_fragments_are_one_message_and_control_frames_are_none(self):
        self.assertEqual(self.read(UPGRADE + frame(b"on", 0x01) + frame(b"ping", 0x89) + frame(b"e", 0x80)), [b"one"])


class Runtime:
    """A socket that echoes."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"ws://127.0.0.1:{self.listener.getsockname()[1]}/arcp"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            with one:
                while data := one.recv(65536):
                    one.sendall(data)

    def close(self):
        proxy.hang_up(self.listener)
        self.listener.close()


class Between(unittest.TestCase):
    def setUp(self):
        self.runtime = Runtime()
        self.folder = tempfile.TemporaryDirectory()
        self.frames = os.path.join(self.folder.name, "frames")

    def tearDown(self):
        self.runtime.close()
        self.folder.cleanup()

    def connect(self, between):
        port = int(between.url.split(":")[2].split("/")[0])
        return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SEC)

    def test_frames_are_kept_with_the_clients_name_and_without_secrets(self):
        hello = {"type": "session.hello", "payload": {"client": {"name": "ack"}, "auth": {"token": "secret"}}}
        data = UPGRADE + frame(json.dumps(hello).encode())
        between = proxy.Proxy(self.runtime.url, frames=self.frames)
        with self.connect(between) as client:
            client.sendall(data)
            came = b""
            while len(came) < len(data):
                came += client.recv(65536)
        between.close()
        self.assertEqual(came, data)
        with open(self.frames, encoding="utf-8") as file:
            lines = sorted((json.loads(line) for line in file), key=lambda line: line["direction"])
        self.assertEqual([line["direction"] for line in lines], ["received", "sent"])
        self.assertEqual(lines[0]["scenario"], "ack")
        self.assertEqual(lines[0]["frame"]["payload"]["auth"]["token"], "...")

    def test_a_seed_cuts_the_same_connections_at_the_same_bytes(self):
        def lengths(seed):
            between = proxy.Proxy(self.runtime.url, seed=seed)
            found = []
            for _ in range(3):
                with self.connect(between) as client:
                    client.sendall(b"x" * 30000)
                    size = 0
                    try:
                        while data := client.recv(65536):
                            size += len(data)
                    except ConnectionError:
                        pass
                    found.append(size)
            count = len(between.cut)
            between.close()
            self.assertEqual(count, 3)
            return found

        for size in lengths(1):
            self.assertLessEqual(size, proxy.TOLD_BYTES[1])
        one, again, other = (proxy.Proxy(self.runtime.url, seed=seed) for seed in (7, 7, 8))
        self.assertEqual(one.cuts, again.cuts)
        self.assertNotEqual(one.cuts, other.cuts)
        for between in (one, again, other):
            between.close()


    def test_as_a_program_it_keeps_the_lines_of_another(self):
        line = b'{"type": "session.ping"}\n'
        done = subprocess.run([sys.executable, proxy.__file__, self.frames, "cat"], input=line + b"no frame\n",
                              stdout=subprocess.PIPE, timeout=PATIENCE_SEC, check=True)
        self.assertEqual(done.stdout, line + b"no frame\n")
        with open(self.frames, encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 2)


class Checkouts(unittest.TestCase):
    def test_what_a_build_makes_does_not_count_as_a_change(self):
        with tempfile.TemporaryDirectory() as folder:
            def write(name, text):
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)

            write("src/a.ts", "one")
            before = checkouts.digest_of(folder)
            write("src/dist/a.js", "made")
            self.assertEqual(checkouts.digest_of(folder), before)
            write("src/a.ts", "two")
            self.assertNotEqual(checkouts.digest_of(folder), before)

    def test_without_a_checkout_it_is_not_run_and_says_what_would_help(self):
        class Absent(checkouts.TypeScript):
            def in_registry(self):
                return "npm: 404"

        with self.assertRaisesRegex(NotRun, "npm: 404; --ts-sdk DIR takes it from a checkout"):
            Absent("/nowhere", "/nowhere").install()


if __name__ == "__main__":
    unittest.main()
