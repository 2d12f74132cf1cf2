#!/bin/sh
# Compiles public.cc as strict C++17 with every public header and every init function that there is,
# links it with the shared libraries and runs it.
#
#   tests/install/cxx.sh CXX_COMPILER INCLUDE_DIR LIBRARY_DIR
set -eu

cxx=$1
include=$2
libraries=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd "$include" && find arcp -name '*.h' | sort | sed 's/.*/#include <&>/') >"$work/headers.inc"
sed -n 's/^static inline \(arcp_[a-z_]*\) \(arcp_[a-z_]*_init\)(void)$/INIT(\1, \2)/p' \
    "$include"/arcp/*.h "$include"/arcp/sys/*.h >"$work/inits.inc"
# Every struct that begins with its size has one, but vtables, which are constants, and what only the
# library fills.
missing=$(awk '/^typedef struct arcp_[a-z_]* \{$/ { name = $3; getline; if (/size_t struct_size;/) print name }' \
    "$include"/arcp/*.h "$include"/arcp/sys/*.h |
    grep -vE '_ops$|^arcp_(provision_request|upstream_error|submit_request)$' | while read -r name; do
    grep -q "($name, " "$work/inits.inc" || echo "$name"
done)
[ -z "$missing" ] || {
    echo "without an init function: $missing"
    exit 1
}
# shellcheck disable=SC2046 # a list of flags
"$cxx" -std=c++17 -pedantic-errors -Wall -Wextra -Werror -I"$include" -I"$work" "$here/public.cc" \
    -o "$work/public" -L"$libraries" -larcp-client -larcp-runtime -larcp \
    -Wl,-rpath-link,"$libraries" $(pkg-config --cflags --libs libuv) -pthread
LD_LIBRARY_PATH=$libraries "$work/public"
echo "$(wc -l <"$work/inits.inc") init functions"
