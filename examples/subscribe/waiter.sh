#!/bin/sh
# Sends an event and waits until it is cancelled.
echo 'here I am'
echo '{"type":"job.event","payload":{"kind":"progress","body":{"current":1,"total":2}}}'
while read -r line; do
    case $line in
    *'"type":"job.cancel"'*)
        echo '{"type":"job.error","payload":{"code":"CANCELLED","message":"stopped as asked"}}'
        exit 0
        ;;
    esac
done
