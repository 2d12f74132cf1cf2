#!/bin/sh
# Sends 400 numbered events, then returns their number.
i=0
while [ "$i" -lt 400 ]; do
    echo "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":\"n\",\"value\":$i}}}"
    i=$((i + 1))
done
echo '{"type":"job.result","payload":{"result":400}}'
