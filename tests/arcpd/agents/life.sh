#!/bin/sh
# Asks the gate for an allowed and for a denied operation; delegates once within its lease and once beyond it.
read -r _
ask() {
    echo "$1"
    while read -r line; do
        case $line in
        *'"re":'*) return ;;
        esac
    done
    exit 1
}
ask '{"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/srv/a"}}'
ask '{"type":"authorize","id":"2","payload":{"capability":"fs.read","target":"/etc/passwd"}}'
ask '{"type":"delegate","id":"3","payload":{"agent":"hello","input":{},"wait":true,"lease_request":{"fs.read":["/srv/a"]}}}'
ask '{"type":"delegate","id":"4","payload":{"agent":"hello","input":{},"lease_request":{"fs.read":["/**"]}}}'
echo '{"type":"job.result","payload":{"result":"done"}}'
