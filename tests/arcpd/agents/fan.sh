#!/bin/sh
# A hundred and fifty children, one after the other.
read -r _
at=0
while [ "$at" -lt 150 ]; do
    at=$((at + 1))
    echo "{\"type\":\"delegate\",\"id\":\"$at\",\"payload\":{\"agent\":\"child\",\"wait\":true}}"
    while read -r line; do
        case $line in
        *"\"re\":\"$at\""*) break ;;
        esac
    done
done
echo '{"type":"job.result","payload":{"result":"done"}}'
