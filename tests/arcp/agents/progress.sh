#!/bin/sh
# Reports that a quarter is done, and waits for the cancellation.
echo '{"type":"job.event","payload":{"kind":"progress","body":{"current":1,"total":4,"units":"files","message":"a.c"}}}'
while read -r line; do
    case "$line" in
    *'"job.cancel"'*) exit 1 ;;
    esac
done
