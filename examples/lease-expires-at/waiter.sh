#!/bin/sh
# Waits for job.cancel, and exits.
while read -r line; do
    case $line in
    *'"type":"job.cancel"'*'"lease_expired"'*) exit 0 ;;
    esac
done
