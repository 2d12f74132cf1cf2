#!/bin/sh
# Sends an event, and waits for the cancellation.
echo waiting
echo "until it is cancelled" >&2
while read -r line; do
    case "$line" in
    *'"job.cancel"'*)
        echo "it was cancelled" >&2
        exit 1
        ;;
    esac
done
