"""Serves files on the public addresses of a network world, by http and https.

    python3 pages.py DIRECTORY CERTIFICATE KEY LOG

Beside them a service that speaks first, on port 22. Each connection is a line of LOG, written before it
is answered; the line "ready" means that all ports are open. `git` requests go to git http-backend.
"""

import http.server
import os
import socketserver
import ssl
import subprocess
import sys
import threading

ADDRESSES = ["93.184.216.34", "93.184.216.35"]
DIRECTORY, CERTIFICATE, KEY, LOG = sys.argv[1:5]


def log(text):
    """One write, so that lines of several threads are whole."""
    fd = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(fd, (text + "\n").encode())
    os.close(fd)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    context = None

    def get_request(self):
        connection, address = super().get_request()
        log("connection %s:%d" % self.server_address)
        return connection, address

    def finish_request(self, request, client_address):
        if self.context is not None:  # in the connection's own thread
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        log("error %r" % (sys.exc_info()[1],))

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)  # HTTPServer asks for its own name
        self.server_name, self.server_port = self.server_address


class Pages(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments):
        super().__init__(*arguments, directory=DIRECTORY)

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        if self.path.startswith("/git/"):
            self.backend(b"")
        elif self.path.startswith("/stream"):
            self.stream()
        else:
            super().do_GET()

    def do_POST(self):
        body = self.body()
        if self.path.startswith("/git/"):
            self.backend(body)
            return
        self.answer(b"%d\n" % len(body))

    def do_PUT(self):
        self.do_POST()

    def answer(self, content, kind="text/plain"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def stream(self):
        """Ten pieces in chunks, as an answer that grows."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(10):
            text = b"data: %d\n\n" % number
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        self.wfile.write(b"0\r\n\r\n")

    def backend(self, body):
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": os.path.join(DIRECTORY, "git"),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "PATH_INFO": path[len("/git") :],
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        kind = "application/octet-stream"
        for line in head.decode().split("\r\n"):
            if line.lower().startswith("content-type:"):
                kind = line.partition(":")[2].strip()
        self.answer(content, kind)


class Greeter(socketserver.BaseRequestHandler):
    def handle(self):
        log("connection %s:%d" % self.server.server_address)
        try:
            self.request.sendall(b"SSH-2.0-world\r\n")
            self.request.sendall(b"heard " + self.request.recv(4096))
        except OSError:
            pass  # a scanner has what it wanted


class GreetingServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    context.set_alpn_protocols(["http/1.1"])
    for address in ADDRESSES:
        plain = Server((address, 80), Pages)
        secure = Server((address, 443), Pages)
        secure.context = context
        for server in (plain, secure, GreetingServer((address, 22), Greeter)):
            threading.Thread(target=server.serve_forever).start()
    log("ready")


main()
