#!/bin/sh
# Calls a tool that costs 40 cents three times; the fourth call is denied.
for i in 1 2 3 4; do
    echo "{\"type\":\"job.event\",\"id\":\"$i\",\"payload\":{\"kind\":\"tool_call\",\"body\":{\"tool\":\"search\",\"call_id\":\"c$i\",\"args\":{}}}}"
    while read -r line; do
        case $line in
        *'"re":"'"$i"'"'*'"error":'*) exit 0 ;;
        *'"re":"'"$i"'"'*) break ;;
        esac
    done
    echo '{"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.search","value":0.40,"unit":"USD"}}}'
done
