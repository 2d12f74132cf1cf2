#!/bin/sh
# Works for as long as nobody asks it to stop.
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
