#!/bin/sh
# Compiles what runs in and around a sandbox for aarch64. It is not run: there is no such machine; the
# filter of that machine is run by an interpreter (helper_filter_test.c).
#
#   tests/launch/compile_aarch64.sh COMPILER ROOT
set -eu
compiler=$1
cd "$2"

status=0
count=0
for source in src/launch/sandbox_helper/*.c src/launch/launcher_*.c src/sandbox/*.c src/broker/*.c; do
    [ -f "$source" ] || continue
    "$compiler" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wno-unused-parameter -Wno-format-truncation \
        -Werror -Iinclude -Isrc -O0 -S -o /dev/null "$source" || status=1
    count=$((count + 1))
done
[ "$count" -ge 20 ] || {
    echo "only $count sources"
    exit 1
}
exit $status
