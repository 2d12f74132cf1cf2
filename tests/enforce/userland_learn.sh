#!/bin/bash
# shellcheck disable=SC2016 # the commands are for another shell
# The lease that is learnt from a command lets it do the same again, confined.
#
#   tests/enforce/userland_learn.sh BIN [NAME]
#
# BIN has arcp. Each command runs three times in a directory that was made in the same way: bare;
# with `arcp run --learn`; and confined with the lease that was learnt, where it must print the same
# and nothing may be denied. One that fails bare, or whose program is not installed, is counted as not
# run; so is Go where CI=true, because its library would be compiled for it. Prints a line per command that fails, then the
# counts. With NAME only that command is run.
# Exit status 77: this host cannot show what a command does.
set -u
bin=$(cd "$1" && pwd) || exit 1
only=${2-}
arcp=$bin/arcp
# Not below /tmp, which is private inside.
work=$(mktemp -d "$bin/../tests/userland-learn.XXXXXX") && work=$(cd "$work" && pwd) || exit 1
trap 'rm -rf "$work"' EXIT
command -v go >/dev/null && gocache=$(go env GOCACHE)
export HOME="$work/home"
mkdir "$HOME" "$work/logs"
# So that objects of git have the same names each time.
# A Java program looks for files of others in /tmp, which a sandbox does not have.
options=(--env JAVA_TOOL_OPTIONS=-XX:-UsePerfData)
export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
works=0
failed=0
absent=0

# Learning is refused where its means are missing; then there is nothing to test.
if ! "$arcp" run --learn "$work/lease" -- true 2>"$work/logs/first"; then
    grep -q "cannot show what a command does" "$work/logs/first" && exit 77
    cat "$work/logs/first"
    exit 1
fi

# Files that commands work with. What arcp keeps of /etc stays, as it does for people: to make it anew, which
# are hundreds of files, takes most of the time of a small command.
prepare() {
    if [ -d "$HOME/.cache/arcp" ]; then mv "$HOME/.cache/arcp" "$work/kept"; fi
    cd "$work" && rm -rf "$work/job" "$HOME" && mkdir -p "$work/job/src/deep" "$HOME/.config/tool" "$HOME/.cache" && cd "$work/job" || return 1
    if [ -d "$work/kept" ]; then mv "$work/kept" "$HOME/.cache/arcp"; fi
    printf '[user]\n\temail = a@b\n\tname = a\n' >"$HOME/.gitconfig"
    echo 'color = red' >"$HOME/.config/tool/rc"
    for i in 1 2 3 4 5 6; do echo "int f$i(void) { return $i; }" >"src/f$i.c"; done
    echo 'int f1(void); int main(void) { return f1() - 1; }' >main.c
    printf 'a,1\nb,2\n' >table.csv
    echo deep >src/deep/file
    ln -s table.csv link
    printf '#!/bin/sh\necho "script $1"\n' >tool.sh && chmod +x tool.sh
    printf 'all: app\napp: main.c src/f1.c\n\tgcc -o app main.c src/f1.c\nclean:\n\trm -f app\n' >Makefile
    printf 'def value():\n    return 41\n' >helper.py
    # shellcheck disable=SC2154 # set by the command
    eval "$before"
}

# The names and contents of all that is there; those of git have times in them.
state() {
    find "$work/job" -path '*/.git/*' -prune -o -path '*__pycache__*' -prune -o -print | sort
    find "$work/job" -path '*/.git/*' -prune -o -path '*__pycache__*' -prune -o -name '*.[chy]*' -type f -exec cksum {} + | sort
}

say_failed() {
    failed=$((failed + 1))
    echo "FAILED   $name: $1"
    sed 's/^/         /' "$work/logs/learn.err" "$work/logs/run.err" | tail -n 20
    cat "$work/lease"
}

# try NAME PROGRAM [BEFORE] COMMAND: what is printed must be the same, but with NAME "... (any output)".
try() {
    name=$1
    command=${*: -1}
    before=:
    [ $# -lt 4 ] || before=$3
    [ -z "$only" ] || [ "$only" = "$name" ] || return
    if ! command -v "$2" >/dev/null 2>&1 || ! prepare >/dev/null 2>&1 ||
        ! /bin/bash -c "$command" >"$work/logs/bare.out" 2>&1 </dev/null; then
        absent=$((absent + 1))
        echo "not run  $name"
        return
    fi
    : >"$work/logs/run.err"
    if ! prepare >/dev/null 2>&1 || ! timeout 120 "$arcp" run "${options[@]}" --learn "$work/lease" -- /bin/bash -c "$command" \
        >"$work/logs/learn.out" 2>"$work/logs/learn.err" </dev/null; then
        say_failed "it fails while it is watched"
    elif ! state >"$work/logs/learn.state" || ! prepare >/dev/null 2>&1 || ! timeout 120 "$arcp" run "${options[@]}" --no-protect --lease "@$work/lease" \
        --report "$work/logs/report" -- /bin/bash -c "$command" >"$work/logs/run.out" 2>"$work/logs/run.err" </dev/null; then
        say_failed "it fails with the lease"
    elif grep -q '"type":"denied"' "$work/logs/report"; then
        say_failed "something is denied"
    elif [[ $name != *"(any output)" ]] && ! cmp -s "$work/logs/learn.out" "$work/logs/run.out"; then
        diff "$work/logs/learn.out" "$work/logs/run.out" | head -n 10
        say_failed "the output differs"
    elif [[ $name != *"(any output)" ]] && ! state | cmp -s - "$work/logs/learn.state"; then
        state | diff "$work/logs/learn.state" - | head -n 10
        say_failed "the files differ"
    else
        works=$((works + 1))
    fi
}

try "cat" cat 'cat main.c src/deep/file'
try "cat of a link" cat 'cat link'
try "ls -l" ls 'ls -l . src | grep -c f; ls -R'
try "head, tail and wc" head 'head -n 1 table.csv; tail -n 1 table.csv; wc -l src/*.c'
try "cp" cp 'cp main.c copy.c && cat copy.c'
try "cp -a" cp 'cp -a src copied && ls -R copied && cat copied/deep/file'
try "mv" mv 'mv table.csv moved.csv && cat moved.csv && ! test -e table.csv'
try "mv of a directory" mv 'mv src sources && ls sources'
try "rm" rm 'rm table.csv && ls'
try "rm -r" rm 'rm -r src && ls *.c'
try "mkdir -p" mkdir 'mkdir -p a/b/c && echo x >a/b/c/d && cat a/b/c/d'
try "ln" ln 'ln main.c hard.c && ln -s main.c soft.c && cat hard.c soft.c'
try "chmod and touch" chmod 'chmod 600 table.csv && touch -d 1990-01-01 table.csv && stat -c "%a %Y" table.csv'
try "mkfifo" mkfifo 'mkfifo p && (echo x >p &) && cat p'
try "test of files" test 'test -f main.c && test -d src && ! test -e absent && test -x tool.sh && echo yes'
try "a script" sh './tool.sh one'
try "a directory of its own" sh 'cd src/deep && cat file && pwd | grep -c deep'
try "temporary files" mktemp 'f=$(mktemp) && d=$(mktemp -d) && echo x >"$f" && cat "$f" && rm -r "$f" "$d"'
try "a temporary file beside" mktemp 'f=$(mktemp ./tmp.XXXXXX) && cp table.csv "$f" && mv "$f" table.csv && cat table.csv'
try "configuration below HOME" cat 'cat ~/.config/tool/rc'
try "configuration that is absent" cat 'cat ~/.toolrc ~/.config/absent 2>/dev/null; echo done'
try "find" find 'find . -name "*.c" | sort'
try "find -exec" find 'find src -type f -exec cat {} + | sort'
try "grep -r" grep 'grep -rn return . | sort'
try "sort and uniq" sort 'cat src/*.c | sort -r | uniq -c'
try "sed -i" sed 'sed -i s/a/x/ table.csv && cat table.csv'
try "awk" awk 'awk -F, "{s += \$2} END {print s}" table.csv'
try "diff" diff 'diff main.c src/f1.c; diff -r src src && echo same'
try "tar" tar 'tar cf a.tar src main.c && tar tf a.tar | sort && mkdir out && tar xf a.tar -C out && cat out/src/deep/file'
try "gzip" gzip 'gzip table.csv && gunzip table.csv.gz && cat table.csv'
try "zip" zip 'zip -q a.zip main.c && unzip -p a.zip main.c'
try "install" install 'install -m 755 tool.sh tool && ./tool two'
try "xargs" xargs 'ls src/*.c | xargs -n 2 cat'
try "dd" dd 'dd if=main.c of=part bs=8 count=1 2>/dev/null && cat part'
try "split" split 'split -l 1 table.csv part. && cat part.*'
try "rsync" rsync 'rsync -a src/ mirror/ && ls -R mirror'
try "gcc -c" gcc 'gcc -c main.c -o main.o && test -s main.o && echo compiled'
try "gcc and run" gcc 'gcc -o app main.c src/f1.c && ./app && echo ran'
try "ar" ar 'gcc -c src/f1.c -o f1.o && ar rcs lib.a f1.o && ar t lib.a'
try "make" make 'make && ./app && make clean'
try "make, up to date" make 'make >/dev/null && sleep 0.1' 'make'
try "cmake" cmake 'printf "cmake_minimum_required(VERSION 3.13)\nproject(a NONE)\nfile(GLOB c src/*.c)\nlist(LENGTH c n)\nmessage(\${n})\n" >CMakeLists.txt' \
    'cmake -S . -B b 2>&1 | grep -c "^6$"'
try "perl" perl 'perl -ne "print uc" table.csv'
try "perl -i" perl 'perl -pi -e s/a/z/ table.csv && cat table.csv'
try "python3" python3 'python3 -B -c "import helper, json; print(json.dumps(helper.value() + 1))"'
try "python3 with its cache" python3 'python3 -c "import helper; print(helper.value())" && ls __pycache__ | wc -l'
try "python3 that walks" python3 'python3 -c "
import os
for d, _, f in sorted(os.walk(\".\")): print(d, sorted(f))"'
try "python3 that writes" python3 'python3 -c "
import pathlib, shutil, tempfile
with tempfile.TemporaryDirectory() as d: pathlib.Path(d, \"x\").write_text(\"x\")
pathlib.Path(\"new\").mkdir(); pathlib.Path(\"new/x\").write_text(\"1\"); shutil.copytree(\"new\", \"other\"); print(open(\"other/x\").read())"'
try "python3 venv (any output)" python3 'python3 -m venv --without-pip v && v/bin/python -c "import sys; print(sys.prefix != sys.base_prefix)"'
try "python3 processes" python3 'python3 -c "
import multiprocessing as m
with m.get_context(\"fork\").Pool(2) as p: print(p.map(abs, [-1, -2]))"'
try "python3 with a socket of its own" python3 'python3 -c "
import socket
s = socket.socket(socket.AF_UNIX); s.bind(\"sock\"); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect(\"sock\"); print(\"met\")"'
try "python3 server of its own" python3 'python3 -c "
import http.server, threading, urllib.request as u
s = http.server.HTTPServer((\"127.0.0.1\", 0), http.server.SimpleHTTPRequestHandler)
s.RequestHandlerClass.log_message = lambda *a: None
threading.Thread(target=s.serve_forever, daemon=True).start()
print(u.urlopen(\"http://127.0.0.1:%d/table.csv\" % s.server_address[1]).read())"'
try "sqlite3" sqlite3 'sqlite3 a.db "create table t(x); insert into t values(1)"' 'sqlite3 a.db "insert into t values(2); select sum(x) from t;"'
try "sqlite3, write-ahead log" sqlite3 'sqlite3 a.db "pragma journal_mode=wal; create table t(x);" >/dev/null' 'sqlite3 a.db "insert into t values(2); select sum(x) from t;"'
try "git init" git 'git init -q new && git -C new status --short && echo made'
# Where files are as old as the index, git does not know by their times whether they have changed, and reads more.
git_before='git init -q . && find . -name .git -prune -o -exec touch -h -d 2026-01-01 {} + && git add -A && git commit -qm first'
try "git status" git "$git_before" 'git status'
try "git log" git "$git_before" 'git log --format=%s'
try "git diff" git "$git_before; echo x >>main.c" 'git diff --stat'
try "git grep" git "$git_before" 'git grep -n return'
try "git commit -a" git "$git_before; echo x >>main.c" 'git commit -qam second && git log --format=%s && git status --short'
try "git add and commit" git "$git_before; echo x >new.c" 'git add new.c && git commit -qm second && git show --stat --format=%s'
try "git checkout" git "$git_before; git branch other" 'git checkout -q other && git branch --show-current'
try "git stash" git "$git_before; echo x >>main.c" 'git stash -q && git stash list | wc -l && git status --short'
try "git clone" git "$git_before" 'git clone -q . ../job/cloned && ls cloned'
try "git gc" git "$git_before" 'git gc -q && git log --format=%s'
try "node" node 'node -e "const fs = require(\"fs\"); fs.writeFileSync(\"f\", \"x\"); console.log(fs.readdirSync(\"src\").length, fs.readFileSync(\"f\", \"utf8\"))"'
try "node modules" node 'mkdir -p node_modules/a && echo "module.exports = 7" >node_modules/a/index.js' 'node -e "console.log(require(\"a\"))"'
try "npm (any output)" npm 'npm init -y --no-update-notifier && cat package.json'
try "javac" javac 'printf "class A { public static void main(String[] a) { System.out.print(1); } }" >A.java && javac A.java && java -cp . A'
# Without optimisation, as in userland_net.sh: Go's library is compiled in less time, and once for both.
goflags="'-gcflags=all=-N -l -dwarf=false' -ldflags=-w"
options=(--env "GOCACHE=${gocache-}" --env GOTOOLCHAIN=local --env "GOFLAGS=$goflags")
export GOCACHE=${gocache-} GOTOOLCHAIN=local GOFLAGS=$goflags
[ "${CI-}" = true ] || try "go build" go 'mkdir app && printf "module a\n\ngo 1.18\n" >app/go.mod; printf "package main\n\nfunc main() { print(1) }\n" >app/main.go' \
    'cd app && go build -buildvcs=false -o ../started . && ../started'
options=()
try "cargo (any output)" cargo 'cargo init -q --vcs none --name a crate && cd crate && cargo run -q --offline'
try "patch" patch 'printf -- "--- table.csv\n+++ table.csv\n@@ -1,2 +1,2 @@\n-a,1\n+c,1\n b,2\n" >p && patch -s <p && cat table.csv'
try "vim" vim 'vim -es -u NONE "+%s/a/q/" +wq table.csv; cat table.csv'
try "openssl" openssl 'openssl genpkey -algorithm ed25519 -out key && openssl pkey -in key -pubout -out pub && wc -l <pub'
try "ssh-keygen" ssh-keygen 'ssh-keygen -q -t ed25519 -N "" -f key && wc -l <key.pub'
try "many forks" sh 'for i in $(seq 300); do /bin/true & done; wait; echo done'
try "ends by a signal, caught" sh 'sh -c "kill -TERM \$\$"; echo $?'

echo "learn: $works commands work with the lease that was learnt, $failed do not, $absent not run (not installed, or they fail here)"
[ "$failed" -eq 0 ] && [ "$works" -gt 0 ]
