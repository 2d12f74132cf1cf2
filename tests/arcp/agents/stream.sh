#!/bin/sh
# Streams 300 chunks of 1000 bytes: a, b, c...
i=0
while [ "$i" -lt 300 ]; do
    letter=$(echo abcdefghijklmnopqrstuvwxyz | cut -c $((1 + i % 26)))
    data=$(printf '%1000s' '' | tr ' ' "$letter")
    i=$((i + 1))
    more=true
    [ "$i" -eq 300 ] && more=false
    echo "{\"type\":\"result.chunk\",\"payload\":{\"data\":\"$data\",\"encoding\":\"utf8\",\"more\":$more}}"
done
echo '{"type":"job.result","payload":{}}'
