#!/bin/sh
# Asks the gate until it denies, and returns its reply.
read -r _
while :; do
    echo '{"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/srv/a"}}'
    read -r reply || exit 1
    case $reply in
    *'"allow":true'*) ;;
    *) break ;;
    esac
done
echo "{\"type\":\"job.result\",\"payload\":{\"result\":$reply}}"
