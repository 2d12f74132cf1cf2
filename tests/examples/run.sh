#!/bin/sh
# Runs one example or recipe as its reader would, and compares what it prints.
#
#   tests/examples/run.sh [--accept] BIN_DIR FOLDER [PROGRAM]...
#
# FOLDER is copied to a scratch folder, the PROGRAMs built from it beside its files. A start.sh
# is sourced: it starts what else is needed, as $helper. Where there is an arcpd.yaml, arcpd runs with it (but on a port of its own, in ARCP_URL). Then
# run.sh, or the program that is called like the folder, must print expected.txt, once what
# changes from run to run is masked. --accept writes expected.txt instead.
#
# ARCP_TEST_WORKERS=spawn: arcpd has a worker, which hosts the agents.
set -eu

accept=no
if [ "$1" = --accept ]; then
    accept=yes
    shift
fi
bin=$(cd "$1" && pwd)
folder=$(cd "$2" && pwd)
shift 2
name=$(basename "$folder")
work=$(mktemp -d)
daemon=
helper=
finish() {
    [ -z "$helper" ] || kill "$helper" 2>"$work/nothing" || true
    [ -z "$daemon" ] || kill "$daemon" 2>"$work/nothing" || true
    worker=$(sed -n 's/.*a worker has joined: process \([0-9]*\).*/\1/p' "$work/log" 2>"$work/nothing" | tail -1)
    # It ends its programs first; when it has ended it may be a zombie.
    while [ -n "$worker" ] && kill "$worker" 2>"$work/nothing" && ! grep -q '^State:.Z' "/proc/$worker/status"; do
        sleep 0.05
    done
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

fail() {
    echo "FAIL $name: $*"
    [ ! -s "$work/log" ] || sed 's/^/  arcpd: /' "$work/log"
    [ ! -s "$work/errors" ] || sed 's/^/  stderr: /' "$work/errors"
    exit 1
}

# ---- what a reader has ----

cp -R "$folder" "$work/here"
for program in "$@"; do
    cp "$program" "$work/here/"
done
# Nothing of the user who runs the tests: no configuration, tokens, traces or colours.
unset ARCP_URL ARCP_TOKEN ARCP_CONTEXT STATE_DIRECTORY XDG_CONFIG_HOME NO_COLOR TRACEPARENT TRACESTATE
no_proxy=127.0.0.1
HOME=$work/home
XDG_STATE_HOME=$work/state
PATH=$bin:$PATH
export no_proxy HOME XDG_STATE_HOME PATH
mkdir "$HOME" "$XDG_STATE_HOME"
cd "$work/here"

# ---- the daemon ----

if [ -f start.sh ]; then
    # shellcheck disable=SC1091 # of the folder that is run
    . ./start.sh
fi
if [ -f arcpd.yaml ]; then
    # A reader has installed libarcp below /usr, which every agent can read.
    grep -q '^enforce:' arcpd.yaml || echo "enforce: {base: [\"${bin%/bin}/lib\"]}" >>arcpd.yaml
    if [ "${ARCP_TEST_WORKERS-none}" != none ]; then
        sed -i '/^store:/d' arcpd.yaml # the default one is durable, as a worker needs it
        echo "workers: {local: $ARCP_TEST_WORKERS}" >>arcpd.yaml
    fi
    # The ready line goes through a pipe: reading it waits for exactly as long as it takes.
    mkfifo "$work/ready"
    arcpd --config arcpd.yaml --listen ws://127.0.0.1:0/arcp >"$work/ready" 2>"$work/log" &
    daemon=$!
    ready=
    read -r ready <"$work/ready" || true
    case $ready in
    'arcpd: ready ws://'*) ARCP_URL=${ready#arcpd: ready } ;;
    *) fail "arcpd did not start: $ready" ;;
    esac
    export ARCP_URL
    ARCP_TOKEN=example
    export ARCP_TOKEN
fi

# ---- run and compare ----

status=0
if [ -f run.sh ]; then
    sh ./run.sh >"$work/output" 2>"$work/errors" || status=$?
else
    "./$name" >"$work/output" 2>"$work/errors" || status=$?
fi
[ "$status" -eq 0 ] || echo "(exit status $status)" >>"$work/output"

# Ids, times, ports, folders and traces change; the trace of the W3C's own example does not. What a sandbox enforces, and
# what programs need beside their lease, depends on the machine.
sed -E \
    -e '/"phase":"enforcement"/d' \
    -e "s|$work/here|HERE|g; s|$work|WORK|g" \
    -e 's/\b(job|msg|res|sess|evt|cred)_[0-9A-Z]{26}/\1_.../g' \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z/TIME/g' \
    -e 's/127\.0\.0\.1:[0-9]+/127.0.0.1:PORT/g' \
    -e 's/4bf92f3577b34da6a3ce929d0e0e4736/TRACE_OF_OURS/g' \
    -e 's/\b[0-9a-f]{32}\b/TRACE/g' \
    -e 's/TRACE_OF_OURS/4bf92f3577b34da6a3ce929d0e0e4736/g' \
    -e 's/(TRACE|4736)-[0-9a-f]{16}-/\1-SPAN-/g' \
    "$work/output" >"$work/masked"

if [ -n "$daemon" ]; then
    kill "$daemon"
    ended=0
    wait "$daemon" || ended=$?
    daemon=
    [ "$ended" -eq 0 ] || fail "arcpd ended with status $ended"
fi
[ ! -s "$work/errors" ] || sed 's/^/  /' "$work/errors"
if [ "$accept" = yes ]; then
    cp "$work/masked" "$folder/expected.txt"
elif [ ! -s expected.txt ]; then
    fail "there is no expected.txt"
elif ! diff -u expected.txt "$work/masked"; then
    fail "printed something else"
fi
echo "ok   $name"
