#!/bin/sh
# Kills a reader after two lines of a streamed result; another process then gets the complete result.
set -eu
rm -f go part
mkfifo go part
arcp submit writer >part 2>seen &
reader=$!
{
    read -r first
    read -r second
} <part
kill -KILL "$reader"
wait "$reader" || echo "after '$first' and '$second' the reader was killed"

job=$(arcp --json jobs | sed -n 's/.*"job_id":"\([^"]*\)".*/\1/p')
echo "the job goes on: $(arcp --json jobs --status running | grep -c "$job")"
echo >go
echo "== the whole result, from the start"
arcp watch "$job" --from-start 2>seen
rm -f go part
