#!/bin/sh
# Waits until it is told to stop, and stops.
while read -r line; do
    case $line in
    *'"type":"job.cancel"'*'"lease_expired"'*) exit 0 ;;
    esac
done
