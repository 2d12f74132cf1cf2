#!/bin/sh
# Counts to input.to: a log line and a progress event for each number.
read -r start
to=$(printf '%s' "$start" | sed 's/.*"to":\([0-9]*\).*/\1/')
i=1
while [ "$i" -le "$to" ]; do
    echo "number $i"
    echo "{\"type\":\"job.event\",\"payload\":{\"kind\":\"progress\",\"body\":{\"current\":$i,\"total\":$to}}}"
    i=$((i + 1))
done
echo "{\"type\":\"job.result\",\"payload\":{\"result\":{\"counted\":$to}}}"
