#!/usr/bin/env python3
"""A proxy between a client and a runtime: it records the frames, or cuts connections.

    proxy.py FRAMES COMMAND...

As a program it does the first over stdio: it runs COMMAND and keeps what goes in and out of it.
"""
import json
import random
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

CUTS = 12  # connections that are cut; later ones are not cut
# The fewest and the most bytes, of both sides together, before a cut: some handshakes are cut, most are not.
ASKED_BYTES = (800, 6000)
TOLD_BYTES = (1500, 20000)
SECRETS = ("token", "resume_token", "value")


def without_secrets(frame):
    """The frame with tokens and the values of credentials masked."""
    if isinstance(frame, dict):
        return {name: "..." if name in SECRETS and isinstance(member, str) else without_secrets(member)
                for name, member in frame.items()}
    if isinstance(frame, list):
        return [without_secrets(member) for member in frame]
    return frame


class Record:
    """The frames of one connection, one per line of a file, with the name of the client."""

    def __init__(self, file, lock):
        self.file, self.lock, self.peer = file, lock, None

    def add(self, direction, text):
        """`direction` is from the view of the runtime: "sent" or "received"."""
        try:
            frame = json.loads(text)
        except ValueError:
            return
        if not isinstance(frame, dict):
            return
        if frame.get("type") == "session.hello":
            self.peer = frame["payload"].get("client", {}).get("name")
        line = {"scenario": self.peer, "direction": direction, "frame": without_secrets(frame)}
        with self.lock:
            self.file.write(json.dumps(line) + "\n")
            self.file.flush()


class Messages:
    """Decodes the text messages of one direction of a WebSocket connection."""

    def __init__(self):
        self.bytes, self.is_open, self.text = b"", False, b""

    def feed(self, data):
        self.bytes += data
        if not self.is_open:
            _, end, rest = self.bytes.partition(b"\r\n\r\n")
            if not end:
                return
            self.bytes, self.is_open = rest, True
        while (frame := self.next_frame()) is not None:
            first, payload = frame
            if first & 0x0f in (0, 1):
                self.text += payload
                if first & 0x80:
                    yield self.text
                    self.text = b""

    def next_frame(self):
        data = self.bytes
        if len(data) < 2:
            return None
        size, at = data[1] & 0x7f, 2
        if size >= 126:
            wide = 2 if size == 126 else 8
            if len(data) < at + wide:
                return None
            size, at = int.from_bytes(data[at:at + wide], "big"), at + wide
        mask = data[at:at + 4] if data[1] & 0x80 else b""
        at += len(mask)
        if len(data) < at + size or (data[1] & 0x80 and len(mask) < 4):
            return None
        payload, self.bytes = data[at:at + size], data[at + size:]
        if mask:
            payload = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
        return data[0], payload


class Proxy:
    """Connects WebSocket clients with the URL of a runtime, until it is closed. With `frames` it records the
    frames in that file; with `seed` it cuts the first connections, each after a random number of bytes."""

    def __init__(self, url, frames=None, seed=None):
        self.host, self.port = urlsplit(url).hostname, urlsplit(url).port
        self.file = open(frames, "a", encoding="utf-8") if frames else None
        self.lock = threading.Lock()
        chance = random.Random(seed)
        self.cuts = [(chance.randint(*ASKED_BYTES), chance.randint(*TOLD_BYTES)) for _ in range(CUTS if seed is not None else 0)]
        self.cut = set()  # the places of cut connections in `sockets`
        self.sockets, self.threads = [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = url.replace(f":{self.port}", f":{self.listener.getsockname()[1]}")
        self.start(self.accept)

    def start(self, work, *words):
        self.threads.append(threading.Thread(target=work, args=words, daemon=True))
        self.threads[-1].start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                runtime = socket.create_connection((self.host, self.port))
            except OSError:
                return  # closed
            place = len(self.sockets)
            self.sockets += [client, runtime]
            asked, told = self.cuts.pop(0) if self.cuts else (None, None)
            record = Record(self.file, self.lock) if self.file else None
            self.start(self.pump, place, client, runtime, "received", record, asked)
            self.start(self.pump, place, runtime, client, "sent", record, told)

    def pump(self, place, source, sink, direction, record, left):
        messages = Messages()
        try:
            while data := source.recv(65536):
                sink.sendall(data[:left])
                for text in messages.feed(data) if record else ():
                    record.add(direction, text)
                if left is not None:
                    left -= len(data)
                    if left <= 0:
                        self.cut.add(place)
                        break
        except OSError:
            pass  # either side has closed
        for end in (source, sink):
            hang_up(end)

    def close(self):
        hang_up(self.listener)
        for end in self.sockets:
            hang_up(end)
        for thread in self.threads:
            thread.join()
        for end in (self.listener, *self.sockets):
            end.close()
        if self.file:
            self.file.close()


def hang_up(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has, by itself


def stdio(frames, command):
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with open(frames, "a", encoding="utf-8") as file:
        record = Record(file, threading.Lock())

        def pump(source, sink, direction):
            for line in source:
                record.add(direction, line)
                sink.write(line)
                sink.flush()

        def ask():
            pump(sys.stdin.buffer, program.stdin, "received")
            program.stdin.close()

        threading.Thread(target=ask, daemon=True).start()
        pump(program.stdout, sys.stdout.buffer, "sent")
    return program.wait()


if __name__ == "__main__":
    sys.exit(stdio(sys.argv[1], sys.argv[2:]))
