#!/bin/sh
# Delegates to hello, waits for it, and returns its result.
echo '{"type":"delegate","id":"1","payload":{"agent":"hello","input":{},"wait":true}}'
while read -r line; do
    case "$line" in
    *'"re":"1"'*)
        echo "{\"type\":\"job.result\",\"payload\":{\"result\":$line}}"
        exit 0
        ;;
    esac
done
