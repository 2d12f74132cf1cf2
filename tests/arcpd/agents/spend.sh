#!/bin/sh
# Spends 0.1 USD three times.
for id in 1 2 3; do
    echo '{"type":"job.event","id":"'$id'","payload":{"kind":"metric","body":{"name":"cost.inference","value":0.1,"unit":"USD"}}}'
done
echo '{"type":"job.result","payload":{"result":"done"}}'
