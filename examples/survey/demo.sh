#!/bin/sh
# One real job, end to end: arcpd with its default store hosts the survey agent; `arcp`
# submits a job under a lease, follows it and prints the report.
#
#   examples/survey/demo.sh [DIRECTORY]        (make demo DIR=DIRECTORY)
set -eu

directory=$(cd "${1:-.}" && pwd)
bin=${ARCP_BIN:-build/bin}
state=$(mktemp -d)
daemon=

stop() {
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    [ -z "$daemon" ] || wait "$daemon" 2>/dev/null || true
    rm -rf "$state"
}
trap stop EXIT INT TERM

export STATE_DIRECTORY="$state" XDG_STATE_HOME="$state/home"
mkfifo "$state/ready"
"$bin/arcpd" --listen ws://127.0.0.1:0/arcp --agent "survey@1.0.0=$(pwd)/$bin/arcp-survey" \
    --log-level warn >"$state/ready" &
daemon=$!
read -r line <"$state/ready"
url=${line##* }

echo "surveying $directory with: arcp submit survey --grant 'fs.read=$directory/**' --budget USD:1" >&2
"$bin/arcp" --url "$url" submit survey --input "{\"directory\":\"$directory\"}" \
    --grant "fs.read=$directory/**" --budget USD:1 --expires-in 10m
