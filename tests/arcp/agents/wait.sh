#!/bin/sh
# Sends an event, and waits for the cancellation.
echo waiting
while read -r line; do
    case "$line" in
    *'"job.cancel"'*) exit 1 ;;
    esac
done
