#!/bin/sh
# Spends 0.1 USD three times, and amounts of two currencies whose names contain a NUL.
for id in 1 2 3; do
    echo '{"type":"job.event","id":"'$id'","payload":{"kind":"metric","body":{"name":"cost.inference","value":0.1,"unit":"USD"}}}'
done
for unit in 'X\u0000a' 'X\u0000b'; do
    printf '%s\n' '{"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.inference","value":1,"unit":"'"$unit"'"}}}'
done
echo '{"type":"job.result","payload":{"result":"done"}}'
