#!/usr/bin/env bash
# What `make bench`, `bench-peers`, `bench-gateway` and tools/bench-daemon start is built by the target of the preset bench:
# every program of bench/, and those of people with what they load.
#
#   tests/bench/built.sh ROOT BUILD_DIR
set -euo pipefail
root=$1 build=$2
command -v ninja >/dev/null || {
    echo "skipped: the build was not made by ninja"
    exit 77
}
grep -q '"name": "bench", "configurePreset": "bench", "targets": \["benches"\]' "$root/CMakePresets.json" || {
    echo "the preset bench does not build the target benches"
    exit 1
}
built=$(ninja -C "$build" -t commands benches | grep -oE " -o [^ ]+ ")
needed=$(ninja -C "$build" -t targets all | sed -n 's/^\(bench\/[^:]*\): C_EXECUTABLE_LINKER.*/\1/p')
[ -n "$needed" ] || {
    echo "no program of bench/ is in the build"
    exit 1
}
missing=0
for file in $needed bin/arcp bin/arcpd bin/arcp-sandbox bin/arcp-bench bin/arcp-bench-agent modules/arcp-http.so; do
    grep -qxF -- " -o $file " <<<"$built" || {
        echo "the target benches does not build $file"
        missing=1
    }
done
exit "$missing"
