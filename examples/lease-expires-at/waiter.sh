#!/bin/sh
# Waits for the cancellation, and ends.
while read -r line; do
    case $line in
    *'"type":"job.cancel"'*'"lease_expired"'*) exit 0 ;;
    esac
done
