#!/bin/sh
# Which user it is, whether it can write where it works, and what it can see of arcpd's files.
read -r _
touch mine && works=yes || works=no
directory=$(dirname "$(dirname "$(dirname "$PWD")")")
ls "$directory" >/dev/null 2>&1 && lists=yes || lists=no
cat "$directory/audit.jsonl" >/dev/null 2>&1 && reads=yes || reads=no
grep -q '^NoNewPrivs:.1$' /proc/self/status && gains=no || gains=yes
echo "{\"type\":\"job.result\",\"payload\":{\"result\":\"user $(id -un) works $works lists $lists reads $reads gains $gains\"}}"
