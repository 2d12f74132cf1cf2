#!/bin/sh
# Is a quarter done, and waits to be ended.
echo '{"type":"job.event","payload":{"kind":"progress","body":{"current":1,"total":4,"units":"files","message":"a.c"}}}'
while read -r line; do
    case "$line" in
    *'"job.cancel"'*) exit 1 ;;
    esac
done
