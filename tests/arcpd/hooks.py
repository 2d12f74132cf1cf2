"""arcpd with hooks, in a directory of its own, and a receiver that checks signatures with Python's hmac."""
import contextlib
import hashlib
import hmac
import http.server
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

SECRET = "a-key-of-the-tests"
TOKEN = "a-token-of-the-tests"


def is_signed(headers, body):
    """Whether arcp-signature is t=UNIX,v1=HEX with the HMAC of "UNIX.BODY", and new."""
    found = re.fullmatch(r"t=([0-9]+),v1=([0-9a-f]{64})", headers.get("arcp-signature", ""))
    if found is None or abs(time.time() - int(found[1])) > 300:
        return False
    expected = hmac.new(SECRET.encode(), found[1].encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, found[2])


class Authority:
    """A certificate authority in a directory."""

    def __init__(self, directory):
        self.directory = directory
        self.file = os.path.join(directory, "ca.pem")
        self.openssl("req", "-x509", *self.KEY, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=ca")

    KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.directory, check=True, capture_output=True)

    def certificate(self, name, alternative="IP:127.0.0.1", days=2):
        """A PEM file with a certificate and its key."""
        with open(os.path.join(self.directory, f"{name}.ext"), "w", encoding="utf8") as file:
            file.write(f"subjectAltName={alternative}\n")
        self.openssl("req", *self.KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                     "-days", str(days), "-extfile", f"{name}.ext", "-out", f"{name}.crt")
        whole = os.path.join(self.directory, f"{name}.pem")
        with open(whole, "w", encoding="utf8") as out:
            for part in ("crt", "key"):
                with open(os.path.join(self.directory, f"{name}.{part}"), encoding="utf8") as file:
                    out.write(file.read())
        return whole


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps what arrives: (path, body). `answer(path)` gives a status, or does the rest itself and returns None.
    With `certificate` (a PEM file with the key) it speaks TLS."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answer=lambda handler: 204, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.context = None
        if certificate is not None:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificate)
        self.answer = answer
        self.arrived = []
        self.unsigned = 0
        self.changed = threading.Condition()
        self.url = f"http{'' if certificate is None else 's'}://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        if self.context is not None:
            request = self.context.wrap_socket(request, server_side=True)  # in the connection's thread
        super().finish_request(request, client_address)

    def wait(self, is_done, seconds=120):
        """Waits until is_done(arrived)."""
        with self.changed:
            if not self.changed.wait_for(lambda: is_done(self.arrived), seconds):
                raise AssertionError(f"did not happen; {len(self.arrived)} have arrived: {self.arrived[-3:]}")

    def handle_error(self, request, client_address):
        pass  # a killed arcpd, or one that refuses the certificate


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802
        size = int(self.headers["content-length"])
        body = self.rfile.read(size)
        if len(body) != size:
            return  # arcpd was killed
        with self.server.changed:
            self.server.unsigned += 0 if is_signed(self.headers, body) else 1
            self.server.arrived.append((self.path, json.loads(body)))
            self.server.changed.notify_all()
        status = self.server.answer(self)
        if status is not None:
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

    def log_message(self, format, *args):  # noqa: A002
        pass


class Daemon(contextlib.ExitStack):
    """arcpd with these lines for `hooks:`; start and kill it as often as wanted."""

    def __init__(self, bin_dir, hooks, more=""):
        super().__init__()
        self.bin = bin_dir
        self.directory = self.enter_context(tempfile.TemporaryDirectory())
        self.process = None
        self.url = None
        self.log = ""
        self.callback(self.kill)
        os.mkdir(self.path("state"), 0o700)
        self.environment = {**os.environ, "ARCP_TOKEN": TOKEN, "STATE_DIRECTORY": self.path("state"),
                            "HOME": self.directory}
        with open(os.open(self.path("key"), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf8") as file:
            file.write(SECRET + "\n")
        self.more = more
        self.configure(hooks)

    def path(self, name):
        return os.path.join(self.directory, name)

    def configure(self, hooks):
        with open(self.path("arcpd.yaml"), "w", encoding="utf8") as file:
            file.write(f"""
listen: ["ws://127.0.0.1:0/arcp"]
store: "sqlite:{self.path('arcp.db')}"
tokens: [{{principal: olga, role: operator, token: {TOKEN}}}]
enforce: {{mode: "off"}}
agents:
  - {{name: quick, mode: plain, command: ["true"]}}
  - {{name: slow, mode: plain, command: ["sleep", "1000"]}}
{self.more}
hooks:
{hooks}
""")

    def hook(self, name, events, url, more=""):
        return (f'  - {{name: {name}, on: [{events}], url: "{url}", secret: "{{file:{self.path("key")}}}"{more}}}\n')

    def start(self):
        self.process = subprocess.Popen([f"{self.bin}/arcpd", "--config", self.path("arcpd.yaml")],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=self.environment)
        for line in self.process.stdout:
            self.log += line
            if line.startswith("arcpd: ready "):
                self.url = line.split()[2]
                break
        else:
            raise AssertionError(self.log)
        stdout = self.process.stdout
        threading.Thread(target=self.read, args=(stdout,), daemon=True).start()

    def read(self, stdout):
        with stdout:
            for line in stdout:
                self.log += line

    def reload(self):
        os.kill(self.process.pid, signal.SIGHUP)

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def words(self, words):
        return [f"{self.bin}/arcp", words[0], "--url", self.url, *words[1:]]

    def arcp(self, *words, check=True):
        done = subprocess.run(self.words(words), capture_output=True, text=True, env=self.environment, timeout=120,
                              check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{words}: {done.stderr}\n{self.log}")
        return done.stdout

    def waiting(self):
        return [json.loads(line) for line in self.arcp("hooks", "-o", "json").splitlines()]


def closed_port():
    """A port on which nothing listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


BIN = sys.argv[1] if len(sys.argv) > 1 else ""
