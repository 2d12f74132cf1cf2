#!/bin/sh
# Waits for a job of the schedule and prints its result.
set -eu
job=
while [ -z "$job" ]; do
    job=$(arcp --json jobs --status success | sed -n 's/.*"job_id":"\([^"]*\)".*/\1/p' | head -n 1)
done
arcp watch "$job" --from-start 2>seen
echo
