#!/bin/sh
# Reports that it is half done, and has two children that wait.
echo '{"type":"job.event","payload":{"kind":"progress","body":{"current":1,"total":2,"units":"parts"}}}'
echo '{"type":"delegate","id":"1","payload":{"agent":"progress","input":{}}}'
echo '{"type":"delegate","id":"2","payload":{"agent":"progress","input":{}}}'
while read -r line; do
    case "$line" in
    *'"job.cancel"'*) exit 1 ;;
    esac
done
