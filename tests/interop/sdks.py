"""The SDKs that registries have, and the programs here that use them. A kind of SDK has a `name`, its
`package`, what its client is `called` here and the peer `profile` that it gets for it, and `lacks`: the
scenarios that its client's program has not. `install` makes it ready and says what is played, or raises
NotRun; `client` and `runtime` are commands."""
import os
import platform
import shutil
import subprocess
import venv

from programs import NotRun, commit_of, line_with, output_of

HERE = os.path.dirname(os.path.abspath(__file__))
TOKEN, OTHER_TOKEN = "interop", "interop-other"
INSTALL_SEC = 240


class Python:
    """The Python SDK, from PyPI."""

    name = "Python"
    package = "agentruntimecontrolprotocol"
    called, profile = "as-python", "python"
    lacks = ()
    folder = os.path.join(HERE, "python")

    def __init__(self, place, work):
        self.place, self.work = os.path.join(place, "python"), work
        self.python = os.path.join(self.place, "bin", "python")

    def install(self):
        """Installs the SDK, unless it was installed from the same lock file; returns its version as text."""
        lock = os.path.join(self.folder, "requirements.txt")
        kept = os.path.join(self.place, "requirements.txt")
        if not (os.path.exists(kept) and open(kept, "rb").read() == open(lock, "rb").read()):
            try:
                venv.create(self.place, clear=True, with_pip=True)
            except subprocess.CalledProcessError:
                raise NotRun("python3-venv is not installed "
                             "(tools/install-deps.sh --interop)") from None
            text, well = output_of(
                [self.python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check",
                 "--require-hashes", "--only-binary", ":all:", "--retries", "1", "-r", lock],
                INSTALL_SEC)
            if not well:
                raise NotRun(f"PyPI: {line_with(text, 'ERROR')}")
            shutil.copy(lock, kept)
        text, _ = output_of([self.python, "-m", "pip", "freeze"], 60)
        version = [line for line in text.splitlines() if line.startswith(self.package + "==")]
        return (f"`{version[0] if version else self.package}` from PyPI, {platform.python_implementation()} "
                f"{'.'.join(platform.python_version_tuple()[:2])}")

    def client(self, url, called):
        return [self.python, os.path.join(self.folder, "client.py"), url, TOKEN, called]

    def runtime(self, stdio=False):
        program = [self.python, os.path.join(self.folder, "runtime.py")]
        return program + (["--stdio"] if stdio else []) + [TOKEN, OTHER_TOKEN]


class Go:
    """The Go SDK, from the Go module proxy, or from a checkout where that has none."""

    name = "Go"
    package = "github.com/agentruntimecontrolprotocol/go-sdk"
    called, profile = "as-go", "go"
    lacks = ("denied", "pipelining", "disturbance")
    folder = os.path.join(HERE, "go")

    def __init__(self, place, work, checkout=None):
        self.place, self.work, self.checkout = os.path.join(place, "go"), work, checkout
        self.go = shutil.which("go") or "/usr/local/go/bin/go"
        self.environment = {**os.environ, "GOFLAGS": "-buildvcs=false", "GOTOOLCHAIN": "local",
                            "GOWORK": "off"}

    def ask(self, *words):
        return output_of([self.go, *words], INSTALL_SEC, cwd=self.folder, env=self.environment)

    def install(self):
        """Builds the SDK; returns its version as text. Uses copies of go.mod and go.sum: a checkout is
        named only there, and a sum missing in go.sum is taken from the sum database."""
        if shutil.which(self.go) is None:
            raise NotRun("go is not installed")
        os.makedirs(self.place, exist_ok=True)
        for name in ("go.mod", "go.sum"):
            shutil.copy(os.path.join(self.folder, name), self.place)
        module = os.path.join(self.place, "go.mod")
        if self.checkout is not None:
            text, well = self.ask("mod", "edit", f"-replace={self.package}={os.path.abspath(self.checkout)}",
                                  module)
            if not well:
                raise NotRun(f"go mod edit: {line_with(text, 'go: ')}")
        text, well = self.ask("build", "-mod=mod", f"-modfile={module}", "-o", self.place + os.sep,
                              "./client", "./runtime")
        if not well and "server response: " in text:
            raise NotRun(f"the Go module proxy: {line_with(text, 'server response: ')}")
        if not well:
            raise NotRun(f"go build: {line_with(text, 'go: ')}")
        version, _ = self.ask("list", "-m", f"-modfile={module}", "-f", "{{.Version}}", self.package)
        language, _ = self.ask("env", "GOVERSION")
        return f"`{self.package}` {self.origin(version.strip())}, {language.strip()}"

    def origin(self, version):
        if self.checkout is None:
            return f"{version} from the Go module proxy"
        return f"{commit_of(self.checkout)} in place of {version}"

    def client(self, url, called):
        return [os.path.join(self.place, "client"), url, TOKEN, called]

    def runtime(self, stdio=False):
        program = [os.path.join(self.place, "runtime")]
        return program + (["--stdio"] if stdio else []) + [TOKEN, OTHER_TOKEN]
