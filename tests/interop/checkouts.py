"""SDKs that are not in a registry: built from a checkout, in a copy below BUILD_DIR/interop.

As in sdks.py. What was built of the same files before is taken as it is.
"""
import filecmp
import glob
import hashlib
import os
import re
import shutil

from programs import NotRun, commit_of, line_with, output_of
from sdks import OTHER_TOKEN, TOKEN

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD_SEC = 900
MADE = (".git", "node_modules", "dist", "target")  # not the SDK's files: what a build makes of them


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def digest_of(folder):
    """A hash of all files of a checkout."""
    whole = hashlib.sha256()
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in MADE)
        for name in sorted(names):
            file = os.path.join(path, name)
            if os.path.isfile(file):
                with open(file, "rb") as content:
                    whole.update(f"{os.path.relpath(file, folder)}\0".encode() + hashlib.sha256(content.read()).digest())
    return whole.hexdigest()


class Checkout:
    """The common base class. A kind has `option`, the option of run for the checkout, `in_registry`, the reason
    why there is no package, `tools`, which finds the build tools, `make` and `programs`."""

    lacks = ()

    def __init__(self, place, work, checkout=None):
        self.place, self.work, self.checkout = os.path.join(place, self.folder), work, checkout
        self.programs = os.path.join(HERE, self.folder)
        self.sdk, self.ready = os.path.join(self.place, "sdk"), os.path.join(self.place, "programs")
        self.environment = {**os.environ}

    def install(self):
        if self.checkout is None:
            raise NotRun(f"{self.in_registry()}; {self.option} DIR takes it from a checkout")
        os.makedirs(self.place, exist_ok=True)
        version = self.tools()
        kept, digest = os.path.join(self.sdk, ".built-from"), digest_of(self.checkout)
        if not (os.path.exists(kept) and read(kept) == digest):
            shutil.rmtree(self.sdk, ignore_errors=True)
            shutil.copytree(self.checkout, self.sdk, symlinks=True, ignore=shutil.ignore_patterns(*MADE))
            self.make()
            with open(kept, "w", encoding="utf-8") as file:
                file.write(digest)
        shutil.rmtree(self.ready, ignore_errors=True)
        self.make_programs()
        return f"`{self.package}` {commit_of(self.checkout)}, {version}"

    def do(self, *command, folder=None, word="rror"):
        text, well = output_of(command, BUILD_SEC, cwd=folder or self.sdk, env=self.environment)
        if not well:
            raise NotRun(f"{os.path.basename(command[0])}: {line_with(text, word)}")
        return text

    def runtime(self, stdio=False):
        return self.start("runtime", *(["--stdio"] if stdio else []), TOKEN, OTHER_TOKEN)

    def client(self, url, called):
        return self.start("client", url, TOKEN, called)


class TypeScript(Checkout):
    """The TypeScript SDK. Node.js and pnpm, in the versions that it requires, come from the npm registry."""

    name, folder, option = "TypeScript", "ts", "--ts-sdk"
    package = "@agentruntimecontrolprotocol/sdk"
    called, profile = "as-ts", "ts"

    def in_registry(self):
        text, well = output_of(["npm", "view", self.package, "version"], 60)
        return "the registry has it now, and the programs here take none from there" if well else f"npm: {line_with(text, '404 ')}"

    def tools(self):
        lock, kept = (os.path.join(place, "package-lock.json") for place in (self.programs, self.place))
        modules = os.path.join(self.place, "node_modules")
        if not (os.path.exists(modules) and filecmp.cmp(lock, kept, shallow=False)):
            for name in ("package.json", "package-lock.json"):
                shutil.copy(os.path.join(self.programs, name), self.place)
            self.do("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=self.place, word="npm error")
        nodes = glob.glob(os.path.join(modules, "node-linux-*"))
        if not nodes:
            raise NotRun("the npm registry has no Node.js for this machine")
        self.node = os.path.join(nodes[0], "bin", "node")
        self.pnpm = [self.node, os.path.join(modules, "pnpm", "bin", "pnpm.cjs")]
        # Builds its packages from sources, with the headers of this Node.js, without prompts.
        self.environment |= {"PATH": os.path.dirname(self.node) + os.pathsep + os.environ["PATH"], "CI": "1",
                             "npm_config_nodedir": nodes[0], "npm_config_build_from_source": "true",
                             "npm_config_manage_package_manager_versions": "false"}
        return f"Node.js {self.do(self.node, '--version', folder=self.place).strip()}"

    def make(self):
        """Runs no package script except the one that compiles the SQLite binding of the store: others would
        write hooks into the repository around the copy."""
        wanted = f"--filter={self.package}..."
        self.do(*self.pnpm, "install", "--frozen-lockfile", "--ignore-scripts", wanted, word="ERR_PNPM")
        self.do(*self.pnpm, wanted, "rebuild", "better-sqlite3")
        self.do(*self.pnpm, "-r", wanted, "run", "build")

    def make_programs(self):
        scope = os.path.join(self.ready, "node_modules", os.path.dirname(self.package))
        os.makedirs(scope)
        os.symlink(os.path.join(self.sdk, "packages", "sdk"), os.path.join(scope, "sdk"))
        for program in glob.glob(os.path.join(self.programs, "*.mjs")):
            shutil.copy(program, self.ready)

    def start(self, program, *words):
        return ["env", "ARCP_LOG_LEVEL=silent", self.node, os.path.join(self.ready, f"{program}.mjs"), *words]


class Java(Checkout):
    """The Java SDK, with a JDK 25 of this machine: the one of JAVA_HOME, or of /usr/lib/jvm."""

    name, folder, option = "Java", "java", "--java-sdk"
    package = "io.agentruntimecontrolprotocol:arcp"
    called, profile = "as-java", "java"
    modules = ("arcp-client", "arcp-runtime-jetty")

    def in_registry(self):
        text, well = output_of(["mvn", "-B", "-q", "-ntp", "-U", "dependency:get", f"-Dartifact={self.package}:1.0.0",
                                "-Dtransitive=false"], 120)
        return ("the registry has it now, and the programs here take none from there" if well
                else f"Maven Central: {line_with(text, 'Could not find artifact')}")

    def tools(self):
        for home in (os.environ.get("JAVA_HOME", ""), *sorted(glob.glob("/usr/lib/jvm/*25*"))):
            java = os.path.join(home, "bin", "java")
            said = output_of([java, "-version"], 60)[0] if os.path.exists(java) else ""
            if found := re.search(r'version "(25[^"]*)"', said):
                self.home, self.environment["JAVA_HOME"] = home, home
                return f"JDK {found.group(1)}"
        raise NotRun("no JDK 25 is installed (JAVA_HOME, /usr/lib/jvm)")

    def make(self):
        # Jetty 12.1.8 is the last version of which the registry has all parts needed here.
        self.do("mvn", "-B", "-q", "-ntp", "-Djetty.version=12.1.8", "-DskipTests", "-Dmaven.javadoc.skip=true", "-Dmaven.source.skip=true",
                "-pl", ",".join(self.modules), "-am", "package", "dependency:copy-dependencies",
                f"-DoutputDirectory={self.place}/lib", "-DincludeScope=runtime", word="ERROR")

    def make_programs(self):
        jars = [glob.glob(f"{self.sdk}/{module}/target/*.jar")[0] for module in self.modules]
        self.classes = os.pathsep.join([self.ready, f"{self.place}/lib/*", *jars])
        self.do(f"{self.home}/bin/javac", "-nowarn", "-cp", self.classes, "-d", self.ready,
                *glob.glob(os.path.join(self.programs, "*.java")), word="error: ")

    def start(self, program, *words):
        return [f"{self.home}/bin/java", "-cp", self.classes, program.capitalize(), *words]
