#!/usr/bin/env python3
"""Builds and runs the programs that the README shows, against an installation.

    tests/install/readme.py README C_COMPILER CXX_COMPILER

PKG_CONFIG_PATH and LD_LIBRARY_PATH lead to the installation. Each block ```c file=NAME or
```cpp file=NAME is a program of at most 24 lines; the commands that the README gives build the
C programs, and with the other compiler the C++ programs. Those that embed a runtime serve each that
submits a job. The port is one that is free.
"""
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

LINES_MAX = 24
FLAGS = {".c": ["-std=gnu11"], ".cc": ["-std=c++17"]}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fail(message):
    sys.exit("FAIL README: " + message)


def build(name, source, packages, compiler):
    words = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], check=True,
                           capture_output=True, text=True).stdout.split()
    ending = os.path.splitext(source)[1]
    command = [compiler, *FLAGS[ending], "-Wall", "-Werror", "-o", name, source, *words]
    if subprocess.run(command, check=False).returncode != 0:
        fail(source + " cannot be built")


def output(name):
    run = subprocess.run(["./" + name], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=60, check=False)
    return run.stdout + run.stderr + ("" if run.returncode == 0 else f"(exit {run.returncode})")


def expect(name, text):
    printed = output(name)
    if printed != text:
        fail(f"{name} printed {printed!r}, not {text!r}")


def wait_for(port, server):
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if server.poll() is not None:
            fail("the runtime ended: " + server.stdout.read())
        time.sleep(0.05)
    fail("the runtime does not listen")


def main():
    readme, cc, cxx = sys.argv[1:]
    with open(readme, encoding="utf-8") as file:
        text = file.read()
    port = free_port()
    programs = dict(re.findall(r"^```(?:c|cpp) file=(\S+)\n(.*?)^```", text, re.M | re.S))
    commands = re.findall(r"^cc -o (\S+) (\S+\.c) \$\(pkg-config --cflags --libs ([a-z -]+)\)$",
                          text, re.M)
    if sorted(programs) != sorted(f"{name}{ending}" for name, _, _ in commands for ending in FLAGS):
        fail("the programs and the commands that build them do not belong together")
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for name, _, packages in commands:
            for ending, compiler in (".c", cc), (".cc", cxx):
                source = programs[name + ending]
                if source.count("\n") > LINES_MAX:
                    fail(f"{name}{ending} has more than {LINES_MAX} lines")
                with open(name + ending, "w", encoding="utf-8") as file:
                    file.write(source.replace(":7777/", f":{port}/"))
                build(name + ending + ".out", name + ending, packages.split(), compiler)
        for ending in FLAGS:
            expect(f"check{ending}.out", "PERMISSION_DENIED\n")
            with subprocess.Popen([f"./serve{ending}.out"], stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
                try:
                    wait_for(port, server)
                    for other in FLAGS:
                        expect(f"submit{other}.out", '"hello"\n')
                finally:
                    server.kill()
    print(f"README: {len(programs)} programs")


main()
