#!/bin/sh
# shellcheck disable=SC2016 # the commands are for another shell
# Programs that people run work in a sandbox, with a directory of their own to write.
#
#   tests/enforce/userland.sh BIN
#
# BIN has arcp. Each command runs bare, then under `arcp run`; one that fails bare, or whose program is
# not installed, is counted as not run. Prints a line per command that fails confined, then the counts.
set -u
bin=$(cd "$1" && pwd) || exit 1
arcp=$bin/arcp
# Not below /tmp, which is private inside.
work=$(mktemp -d "$bin/../tests/userland.XXXXXX") && work=$(cd "$work" && pwd) || exit 1
trap 'rm -rf "$work"' EXIT
export HOME="$work/home"
mkdir "$HOME"
works=0
failed=0
absent=0

# attempt DIRECTORY [arcp run ...]: the command in $command.
attempt() {
    rm -rf "$1" && mkdir "$1" && cd "$1" || return 1
    directory=$1
    shift
    "$@" /bin/bash -c "$command" >"$directory.out" 2>&1 </dev/null
}

# try NAME PROGRAM COMMAND
try() {
    name=$1
    command=$3
    if ! command -v "$2" >/dev/null 2>&1 || ! attempt "$work/bare"; then
        absent=$((absent + 1))
        echo "not run  $name"
        return
    fi
    if attempt "$work/confined" timeout 120 "$arcp" run --no-protect --read "$work/confined" --write "$work/confined" --; then
        works=$((works + 1))
    else
        failed=$((failed + 1))
        echo "FAILED   $name: $(tail -n 3 "$work/confined.out" | tr '\n' ' ')"
    fi
}

try "id" id 'id && whoami'
try "ls" ls 'ls -la / /usr /etc >/dev/null'
try "find" find 'find / -xdev -name passwd >/dev/null 2>&1; find . -type d'
try "text tools" sort 'seq 1000 | sort -rn | awk "{s += \$1} END {print s}" | sed s/5/x/ | tr x y | grep -q y'
try "processes" ps 'ps -ef | grep -q ps'
try "process substitution" bash 'test "$(cat <(echo a) <(echo b) | tr -d "\n")" = ab'
try "background jobs" bash 'set -m; sleep 0.01 & wait $!'
try "getent" getent 'getent passwd "$(id -u)" && getent hosts localhost'
try "locale" locale 'locale -a >/dev/null && LC_ALL=C.UTF-8 locale >/dev/null'
try "date" date 'TZ=Europe/Rome date'
try "script" script 'script -qec "tty && echo typed" /dev/null | grep -q typed'
try "tar" tar 'mkdir d && echo x >d/f && tar czf a.tgz d && rm -r d && tar xzf a.tgz && cat d/f'
try "gzip" gzip 'echo x | gzip | gunzip'
try "cp -a" cp 'mkdir d && echo x >d/f && cp -a d e && cmp d/f e/f'
try "install" install 'echo x >f && install -m 755 f g && test -x g'
try "touch and chmod" touch 'touch -d 1990-01-01 f && chmod 600 f && test "$(stat -c %a f)" = 600'
try "flock" flock 'flock f true'
try "mktemp" mktemp 'mktemp && mktemp -d'
try "perl" perl 'perl -MFile::Temp=tempfile -MPOSIX -e "my (\$f, \$n) = tempfile(); print \$n"'
try "python3" python3 'python3 -c "import json, re, ssl, http.client, asyncio; asyncio.run(asyncio.sleep(0))"'
try "python3 processes" python3 'python3 -c "
import multiprocessing as m
if __name__ == \"__main__\":
    with m.get_context(\"fork\").Pool(2) as p:
        assert p.map(abs, [-1, -2]) == [1, 2]
"'
try "python3 threads" python3 'python3 -c "
from concurrent.futures import ThreadPoolExecutor as T
assert list(T(4).map(abs, range(100)))[99] == 99"'
try "python3 subprocess" python3 'python3 -c "import subprocess; assert subprocess.check_output([\"echo\", \"x\"]) == b\"x\n\""'
try "python3 tempfile" python3 'python3 -c "
import tempfile
with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile() as f: f.write(b\"x\")"'
try "python3 pty" python3 'python3 -c "import pty; assert pty.spawn([\"true\"]) == 0"'
try "python3 sqlite" python3 'python3 -c "
import sqlite3
c = sqlite3.connect(\"a.db\"); c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table t(x)\"); c.commit()"'
try "python3 shared memory" python3 'python3 -c "
from multiprocessing import shared_memory as s
m = s.SharedMemory(create=True, size=64); m.close(); m.unlink()"'
try "python3 venv" python3 'python3 -m venv --without-pip v && v/bin/python -c "import sys; assert sys.prefix != sys.base_prefix"'
try "python3 server of its own" python3 'python3 -c "
import http.server, threading, urllib.request as u
s = http.server.HTTPServer((\"127.0.0.1\", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
u.urlopen(\"http://127.0.0.1:%d/\" % s.server_address[1]).read()"'
try "node" node 'node -e "require(\"fs\").writeFileSync(\"f\", \"x\"); console.log(process.version)"'
try "node worker" node 'node -e "
const {Worker} = require(\"worker_threads\");
new Worker(\"process.exit(0)\", {eval: true}).on(\"exit\", c => process.exit(c))"'
try "node child" node 'node -e "
require(\"child_process\").execFile(\"echo\", [\"x\"], (e, o) => process.exit(e || o != \"x\n\" ? 1 : 0))"'
try "npm" npm 'npm --version && npm init -y'
try "git" git 'git init -q . && git config user.email a@b && git config user.name a && echo x >f && git add f && git commit -qm m && git status && git log --oneline && git clone -q . c'
try "gcc" gcc 'printf "#include <stdio.h>\nint main(void) { return puts(\"x\") < 0; }\n" >a.c && gcc -O1 -o a a.c && ./a'
try "make" make 'printf "all:\n\techo x\n" >Makefile && make'
try "cmake" cmake 'printf "cmake_minimum_required(VERSION 3.13)\nproject(a NONE)\n" >CMakeLists.txt && cmake -S . -B b'
try "java" java 'java -version'
try "javac" javac 'printf "class A { public static void main(String[] a) { System.out.println(1); } }" >A.java && javac A.java && java -cp . A'
try "openssl" openssl 'openssl genpkey -algorithm ed25519 -out k && openssl pkey -in k -pubout && openssl version -d'
try "curl without a network" curl 'curl -V && ! curl -s --max-time 5 http://127.0.0.1:1/'
try "wget" wget 'wget -V'
try "apt-get" apt-get 'apt-get --version'
try "dpkg" dpkg 'dpkg --print-architecture'
try "sqlite3" sqlite3 'sqlite3 a.db "create table t(x); insert into t values(1);"'
try "vim" vim 'vim -es -u NONE +q f'
try "less" less 'echo x | less -FX'
try "tmux" tmux 'tmux -V'
try "ruby" ruby 'ruby -e "puts 1"'
try "go" go 'go version'

echo "userland: $works commands work confined, $failed do not, $absent not run (not installed, or they fail here)"
[ "$failed" -eq 0 ] && [ "$works" -gt 0 ]
