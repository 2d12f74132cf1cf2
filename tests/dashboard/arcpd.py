"""An arcpd for tests, in a directory of its own."""

import os
import signal
import subprocess
import tempfile
import shutil


class Arcpd:
    """Not started: `write` its configuration, then `start` it."""

    def __init__(self, programs):
        self.programs = programs
        self.directory = tempfile.mkdtemp(prefix="arcp-dashboard-")
        self.agents = tempfile.mkdtemp(prefix="arcp-agents-")  # for programs: a sandbox hides the other one
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.directory, "STATE_DIRECTORY": self.directory}
        self.config = os.path.join(self.directory, "arcpd.yaml")
        self.listen = "ws://127.0.0.1:0/arcp"
        self.process = None

    def write(self, config):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(config)
        os.chmod(self.config, 0o600)

    def start(self):
        self.log = open(os.path.join(self.directory, "log"), "ab")
        self.process = subprocess.Popen([os.path.join(self.programs, "arcpd"), "--config", self.config, "--listen", self.listen],
                                        stdout=subprocess.PIPE, stderr=self.log, env=self.environment, text=True, cwd=self.directory)
        line = self.process.stdout.readline()
        if not line.startswith("arcpd: ready "):
            with open(os.path.join(self.directory, "log"), encoding="utf-8") as log:
                raise RuntimeError("arcpd did not start:\n" + log.read())
        self.url = line.split()[2]
        self.listen = self.url  # the same port when it is started again
        self.page = self.url.replace("ws://", "http://").rsplit("/", 1)[0] + "/ui/"

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def arcp(self, token, *words, check=True, seconds=60):
        done = subprocess.run([os.path.join(self.programs, "arcp"), "--url", self.url, "--token", token, *words],
                              capture_output=True, text=True, env=self.environment, cwd=self.directory, timeout=seconds, check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"arcp {' '.join(words)}: {done.returncode}\n{done.stderr}")
        return done.stdout.strip()

    def local(self, *words):
        """As the local operator, by the socket in the state directory."""
        return subprocess.run([os.path.join(self.programs, "arcp"), *words], capture_output=True, text=True, env=self.environment, cwd=self.directory,
                              timeout=60, check=True).stdout.strip()

    def begin(self, token, *words):
        return subprocess.Popen([os.path.join(self.programs, "arcp"), "--url", self.url, "--token", token, *words],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment, cwd=self.directory)

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.rmtree(self.agents, ignore_errors=True)
