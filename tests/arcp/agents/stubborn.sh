#!/bin/sh
# Does not let itself be ended before it must.
trap '' TERM
echo 'never mind'
while read -r _; do
    :
done
