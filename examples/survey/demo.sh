#!/bin/sh
# One real job, end to end: arcpd with its default store hosts the survey agent; `arcp`
# submits a job under a lease, follows it and prints the report.
#
#   examples/survey/demo.sh [DIRECTORY]        (make demo DIR=DIRECTORY)
#
# With UI=1 the survey takes its time, and a link to the dashboard shows it in a browser.
set -eu

directory=$(cd "${1:-.}" && pwd)
bin=$(cd "${ARCP_BIN:-build/bin}" && pwd)
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
"$bin/arcpd" --listen ws://127.0.0.1:0/arcp --agent "survey@1.0.0=$bin/arcp-survey" \
    --log-level warn >"$state/ready" &
daemon=$!
read -r line <"$state/ready"
url=${line##* }

# A job that reads the directory and nothing else. More words are options of `arcp submit`.
survey() {
    pause_ms=$1
    shift
    "$bin/arcp" --url "$url" submit survey --input "{\"directory\":\"$directory\",\"pause_ms\":$pause_ms}" \
        --grant "fs.read=$directory/**" --budget USD:1 "$@"
}

echo "surveying $directory with: arcp submit survey --grant 'fs.read=$directory/**' --budget USD:1" >&2
if [ -z "${UI:-}" ]; then
    survey 0 --expires-in 10m
    exit
fi

survey 0 --expires-in 10m --quiet >"$state/report"
survey 1500 --expires-in 30m --detach --quiet >"$state/job"
while :; do
    echo "the dashboard: Ctrl-click the link, or paste it into a browser" >&2
    "$bin/arcp" --url "$url" ui
    echo "Enter makes a new link; Ctrl-D ends the demo" >&2
    read -r line || exit 0
done
