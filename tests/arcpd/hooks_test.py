"""The delivery of notifications by arcpd: by POST and by a command, to receivers that do what they should not.

    tests/arcpd/hooks_test.py BIN_DIR
"""
import json
import os
import socketserver
import tempfile
import threading
import unittest

import hooks
from hooks import BIN, Authority, Daemon, Receiver


class Raw(socketserver.ThreadingTCPServer):
    """Reads a request's head and the rest of what has come, and sends what `serve(socket)` sends."""
    daemon_threads = True

    def __init__(self, serve):
        self.count = 0
        self.changed = threading.Condition()
        server = self

        class Connection(socketserver.BaseRequestHandler):
            def handle(self):
                self.request.recv(65536)
                with server.changed:
                    server.count += 1
                    server.changed.notify_all()
                try:
                    serve(self.request)
                except OSError:
                    pass  # arcpd has closed it

        super().__init__(("127.0.0.1", 0), Connection)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()


def trickle(connection):
    """An endless head, a byte at a time."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nx: ")
    stop = threading.Event()
    while not stop.wait(0.05):
        connection.sendall(b"x")


def endless(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")


def garbage(connection):
    connection.sendall(b"\0\xff" * 4096)


class Hooks(unittest.TestCase):
    def daemon(self, text, more=""):
        daemon = self.enterContext(Daemon(BIN, "", more))
        daemon.configure(text(daemon))
        daemon.start()
        return daemon

    def test_the_end_of_a_job_is_posted_signed(self):
        receiver = Receiver()
        daemon = self.daemon(lambda d: d.hook("pager", "end", receiver.url + "/x?y=z"))
        daemon.arcp("submit", "quick")
        receiver.wait(lambda arrived: len(arrived) == 1)
        path, body = receiver.arrived[0]
        self.assertEqual(path, "/x?y=z")
        self.assertEqual(set(body), {"id", "event", "at", "hook", "job"})
        self.assertEqual((body["event"], body["hook"]), ("end", "pager"))
        self.assertEqual((body["job"]["agent"], body["job"]["status"], body["job"]["principal"]),
                         ("quick", "success", "olga"))
        self.assertEqual(receiver.unsigned, 0)

    def test_a_command_gets_the_body_on_its_standard_input(self):
        daemon = self.daemon(lambda d: f"""  - name: mail
    on: [end]
    command: [sh, -c, 'cat > "$1.new" && mv "$1.new" "$1"', sh, "{d.path('out')}"]
  - {{name: fails, on: [end], command: [sh, -c, "echo one >&2; echo two >&2; exit 3"]}}
  - {{name: late, on: [end], command: [sleep, "1000"], timeout_ms: 50}}
  - {{name: missing, on: [end], command: [/no/such/program]}}
""")
        daemon.arcp("submit", "quick")
        errors = {}
        while len(errors) < 3:
            errors = {row["hook"]: row["last_error"] for row in daemon.waiting() if "last_error" in row}
        self.assertEqual(errors["fails"], "the command ended with status 3: two")
        self.assertEqual(errors["late"], "the command did not exit within 50 ms")
        self.assertIn("the command cannot be started", errors["missing"])
        with open(daemon.path("out"), encoding="utf8") as file:
            self.assertEqual(json.load(file)["hook"], "mail")

    def test_a_receiver_that_misbehaves_is_retried_and_delays_no_other(self):
        well = Receiver()
        moved = Receiver(lambda handler: self.redirect(handler, well.url + "/stolen"))
        refuses = Receiver(lambda handler: 503)
        raw = {"slow": Raw(trickle), "garbage": Raw(garbage), "endless": Raw(endless)}

        def text(d):
            lines = d.hook("well", "end", well.url + "/well")
            lines += d.hook("moved", "end", moved.url)
            lines += d.hook("refuses", "end", refuses.url)
            lines += d.hook("closed", "end", f"http://127.0.0.1:{hooks.closed_port()}/?token=in-the-url")
            for name, server in raw.items():
                lines += d.hook(name, "end", server.url, ", timeout_ms: 400")
            return lines
        daemon = self.daemon(text)
        for _ in range(6):
            daemon.arcp("submit", "quick")
        well.wait(lambda arrived: len(arrived) == 6)
        errors = {}
        while len(errors) < 5:
            rows = daemon.waiting()
            errors = {row["hook"]: row["last_error"] for row in rows if "last_error" in row}
        self.assertEqual(errors["moved"], "it answered with status 302, and redirects are not followed")
        self.assertEqual(errors["refuses"], "it answered with status 503")
        self.assertEqual(set(errors), {"moved", "refuses", "closed", "slow", "garbage"})
        # A body without end after a 2xx was delivered: only the status counts.
        with raw["endless"].changed:
            self.assertTrue(raw["endless"].changed.wait_for(lambda: raw["endless"].count >= 6, 60))
        while any(row["hook"] == "endless" for row in daemon.waiting()):
            pass
        self.assertFalse([path for path, _ in well.arrived if path != "/well"])
        shown = daemon.arcp("hooks", "-o", "json") + daemon.log
        for secret in (hooks.SECRET, hooks.TOKEN, "in-the-url"):
            self.assertNotIn(secret, shown)
        # What waits is attempted again, with the same id and body.
        refuses.answer = lambda handler: 200
        refuses.wait(lambda arrived: len({body["id"] for _, body in arrived}) == 6)
        while any(row["hook"] == "refuses" for row in daemon.waiting()):
            pass
        for _, body in refuses.arrived:
            self.assertEqual([other for _, other in refuses.arrived if other["id"] == body["id"] and other != body], [])

    @staticmethod
    def redirect(handler, url):
        handler.send_response(302)
        handler.send_header("location", url)
        handler.send_header("content-length", "0")
        handler.end_headers()

    def test_a_certificate_is_checked_against_the_hooks_own_authorities(self):
        authority = Authority(self.enterContext(tempfile.TemporaryDirectory()))
        good = authority.certificate("good")
        well = Receiver(certificate=good)
        plain = Receiver()
        moved = Receiver(lambda handler: self.redirect(handler, plain.url + "/stolen"), certificate=good)
        unknown = Receiver(certificate=good)
        named = Receiver(certificate=authority.certificate("named", "DNS:other.example"))
        expired = Receiver(certificate=authority.certificate("expired", days=-1))
        trust = f", ca_file: {authority.file}"
        daemon = self.daemon(lambda d: d.hook("well", "end", well.url, trust) + d.hook("moved", "end", moved.url, trust) +
                             d.hook("unknown", "end", unknown.url) + d.hook("named", "end", named.url, trust) +
                             d.hook("expired", "end", expired.url, trust) +
                             d.hook("empty", "end", well.url, f", ca_file: {d.path('arcpd.yaml')}"))
        daemon.arcp("submit", "quick")
        well.wait(lambda arrived: len(arrived) == 1)
        self.assertEqual(well.unsigned, 0)
        errors = {}
        while len(errors) < 5 or min(tries.values()) < 2:  # each is attempted again
            rows = daemon.waiting()
            errors = {row["hook"]: row["last_error"] for row in rows if "last_error" in row}
            tries = {row["hook"]: row["tries"] for row in rows}
        self.assertEqual(errors, {
            "moved": "it answered with status 302, and redirects are not followed",
            "unknown": "it has a certificate that no trusted authority has signed (ca_file)",
            "named": "it has a certificate for another name",
            "expired": "it has a certificate that has expired",
            "empty": "it was not connected to: ca_file cannot be read, or has no certificate in PEM"})
        for receiver in (unknown, named, expired, plain):
            self.assertEqual(receiver.arrived, [])
        # Its operator gives the hook the authority, and what waits is delivered.
        daemon.configure(daemon.hook("unknown", "end", unknown.url, trust))
        daemon.arcp("reload")
        unknown.wait(lambda arrived: len(arrived) == 1)
        self.assertEqual(unknown.unsigned, 0)

    def test_a_reload_changes_hooks_and_refuses_bad_ones(self):
        first, second = Receiver(), Receiver()
        daemon = self.daemon(lambda d: d.hook("pager", "end", first.url))
        daemon.arcp("submit", "quick")
        first.wait(lambda arrived: len(arrived) == 1)
        daemon.configure(daemon.hook("pager", "end", second.url))
        daemon.arcp("reload")
        daemon.arcp("submit", "quick")
        second.wait(lambda arrived: len(arrived) == 1)
        daemon.configure(daemon.hook("pager", "end", second.url).replace(daemon.path("key"), "/no/such/file"))
        daemon.arcp("reload", check=False)
        self.assertIn("not reloaded", daemon.log)
        daemon.arcp("submit", "quick")
        second.wait(lambda arrived: len(arrived) == 2)
        self.assertEqual(len(first.arrived), 1)

    def test_a_stop_ends_what_is_under_way_and_the_next_start_delivers_it(self):
        go_on = threading.Event()
        receiver = Receiver(lambda handler: 204 if go_on.wait(100) else 500)
        self.addCleanup(go_on.set)

        def text(d):
            return d.hook("pager", "end", receiver.url) + f"""  - name: runs
    on: [end]
    command: [sh, -c, 'if [ -e "$1" ]; then echo >"$1.done"; else echo >"$1"; exec sleep 1000; fi', sh, "{d.path('begun')}"]
"""
        daemon = self.daemon(text)
        daemon.arcp("submit", "quick")
        receiver.wait(lambda arrived: len(arrived) == 1)
        while not os.path.exists(daemon.path("begun")):
            pass
        daemon.process.terminate()
        self.assertEqual(daemon.process.wait(), 0, daemon.log)
        go_on.set()
        daemon.start()
        receiver.wait(lambda arrived: len(arrived) == 2)
        self.assertEqual(receiver.arrived[0], receiver.arrived[1])
        while daemon.waiting():
            pass
        self.assertTrue(os.path.exists(daemon.path("begun.done")))

    def test_an_operator_retries_and_drops_what_waits(self):
        receiver = Receiver(lambda handler: 500)
        daemon = self.daemon(lambda d: d.hook("pager", "end", receiver.url))
        for _ in range(2):
            daemon.arcp("submit", "quick")
        receiver.wait(lambda arrived: len({body["id"] for _, body in arrived}) == 2)
        kept, dropped = (row["id"] for row in daemon.waiting())
        daemon.arcp("hooks", "drop", dropped)
        receiver.answer = lambda handler: 204
        daemon.arcp("hooks", "retry", kept[-12:])
        while daemon.waiting():
            pass
        self.assertEqual(receiver.arrived[-1][1]["id"], kept)


if __name__ == "__main__":
    unittest.main(argv=["hooks_test"])
