#!/bin/sh
# Says that it runs, and waits to be ended.
echo waiting
while read -r line; do
    case "$line" in
    *'"job.cancel"'*) exit 1 ;;
    esac
done
