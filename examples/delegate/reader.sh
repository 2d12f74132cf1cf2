#!/bin/sh
# Reads the file of its input, if that is allowed.
echo '{"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/srv/report.txt"}}'
while read -r line; do
    case $line in
    *'"re":"1"'*'"allow":true'*)
        echo '{"type":"job.result","payload":{"result":"12 pages"}}'
        exit 0
        ;;
    *'"re":"1"'*) exit 1 ;;
    esac
done
