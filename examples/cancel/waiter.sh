#!/bin/sh
# Works until it is cancelled.
echo '{"type":"job.event","payload":{"kind":"progress","body":{"current":1,"total":100}}}'
while read -r line; do
    case $line in
    *'"type":"job.cancel"'*)
        echo 'tidying up'
        echo '{"type":"job.error","payload":{"code":"CANCELLED","message":"stopped as asked"}}'
        exit 0
        ;;
    esac
done
