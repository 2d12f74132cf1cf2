#!/bin/sh
# Ignores the cancellation until it is killed.
trap '' TERM
echo 'never mind'
while read -r _; do
    :
done
