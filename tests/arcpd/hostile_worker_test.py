"""A worker with a valid token that sends what tests/worker/hostile.def has: arcpd closes its link, and the job of another
worker goes on.

    tests/arcpd/hostile_worker_test.py BIN_DIR"""
import ast
import os
import re
import socket
import ssl
import struct
import tempfile

from hooks import Authority
from remote_workers import COUNT, PATIENCE_SEC, WORKER_TOKEN, Rig, joined, until

ROWS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "worker", "hostile.def")
HELLO = (f'{{"type":"hello","v":[1,1],"version":"0","token":"{WORKER_TOKEN}","name":"gpu-2","instance":"i","boot_id":"b","pid":1}}\n')


class Link:
    """A WebSocket to the path of workers."""

    def __init__(self, rig):
        context = ssl.create_default_context(cafile=rig.authority.file)
        self.socket = context.wrap_socket(socket.create_connection(("127.0.0.1", rig.port), PATIENCE_SEC),
                                          server_hostname="127.0.0.1")
        self.socket.sendall(b"GET /arcp-worker HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                            b"Sec-WebSocket-Protocol: arcp-worker.1\r\n\r\n")
        self.file = self.socket.makefile("rb")
        assert b"101" in self.file.readline()
        while self.file.readline() != b"\r\n":
            pass

    def send(self, text):
        data = text.encode()
        size = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + struct.pack(">H", len(data))
        self.socket.sendall(b"\x82" + size + bytes(4) + data)

    def read(self):
        """The opcode and the payload of the next frame."""
        first, size = self.file.read(2)
        size = struct.unpack(">H", self.file.read(2))[0] if size == 126 else size
        return first & 15, self.file.read(size)

    def reason(self):
        while True:
            opcode, payload = self.read()
            if opcode == 8:
                self.socket.close()
                return payload[2:].decode()


def rows():
    with open(ROWS, encoding="utf8") as file:
        found = re.findall(r'^HOSTILE\((".*"), ([01]), (".*"), (".*")\)$', file.read(), re.M)
    assert len(found) > 10
    return [[ast.literal_eval(cell) for cell in row] for row in found]


def main():
    with tempfile.TemporaryDirectory() as directory, Rig(Authority(directory)) as rig:
        rig.start_arcpd()
        rig.start_worker("gpu-1", [{"name": "count", "command": COUNT}])
        joined(rig, "gpu-1")
        job = rig.submit("count")
        until(lambda: "line 1" in rig.events(job), "line 1")
        for name, joins, message, reason in rows():
            print(name, flush=True)
            link = Link(rig)
            if joins:
                link.send(HELLO)
                store = re.search(r'"store":"([^"]+)"', link.read()[1].decode())[1]
            link.send(HELLO if message == "HELLO" else message.replace("'", '"').replace("JOB", job))
            got = link.reason()
            assert reason in got, (name, got)
        link = Link(rig)  # it claims the job
        link.send(HELLO + f'{{"job":"{job}","store":"{store}","items_first":1,"errors_first":1}}\n')
        answer = link.read()[1]
        assert b'"what":"forget"' in answer, answer
        rig.arcp("wait", job)
        assert rig.events(job) == [f"line {i}" for i in range(1, 9)], rig.events(job)


main()
