#!/bin/sh
# Installs a finished build into a scratch folder and uses it as a program outside the tree would: headers
# one by one in C and C++, pkg-config, CMake, and a look at what the libraries export.
#
#   tests/install/install.sh BUILD_DIR C_COMPILER CXX_COMPILER
set -eu

build=$1
cc=$2
cxx=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL $*"
    failed=1
}
# The value of a variable of the build.
cache() {
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

DESTDIR=$work cmake --install "$build" >"$work/install.log"
prefix=$work$(cache CMAKE_INSTALL_PREFIX)
libdir=$prefix/$(cache CMAKE_INSTALL_LIBDIR)
include=$prefix/$(cache CMAKE_INSTALL_INCLUDEDIR)
export LD_LIBRARY_PATH="$libdir"
export PKG_CONFIG_PATH="$libdir/pkgconfig"

# ---- every header stands alone, in both languages ----

strict='-Wall -Wextra -pedantic -Werror -fsyntax-only'
headers=$(cd "$include" && find arcp -name '*.h' | sort)
[ -n "$headers" ] || fail "no headers installed"
for header in $headers; do
    # Included twice: its include guard must work.
    printf '#include <%s>\n#include <%s>\ntypedef int not_empty;\n' "$header" "$header" >"$work/header.c"
    cp "$work/header.c" "$work/header.cc"
    # shellcheck disable=SC2086 # a list of flags
    "$cc" -std=c11 $strict -I"$include" "$work/header.c" || fail "$header in C11"
    # shellcheck disable=SC2086 # a list of flags
    "$cxx" -std=c++17 $strict -I"$include" "$work/header.cc" || fail "$header in C++17"
done
# All of them together: no name means two things.
for header in $headers; do
    printf '#include <%s>\n' "$header"
done >"$work/all.c"
echo 'typedef int not_empty;' >>"$work/all.c"
cp "$work/all.c" "$work/all.cc"
# shellcheck disable=SC2086 # a list of flags
"$cc" -std=c11 $strict -I"$include" "$work/all.c" || fail "the headers together in C11"
# shellcheck disable=SC2086 # a list of flags
"$cxx" -std=c++17 $strict -I"$include" "$work/all.cc" || fail "the headers together in C++17"
echo "headers: $(printf '%s\n' "$headers" | wc -l), each in C11 and C++17"

# ---- what leaves the libraries is what the headers declare ----

# The names of the functions that the headers mark ARCP_API.
(cd "$include" && find arcp -name '*.h' -exec cat {} +) |
    sed 's|/\*|\n&|g; s|\*/|\n&\n|g' | sed '/^\/\*/,/^\*\//d' | grep -v '^#' | tr '\n' ' ' | sed 's/[;{}]/\n/g' |
    grep 'ARCP_API' | grep -oE 'arcp_[a-z0-9_]+ *\(' | sed 's/ *($//' | sort -u >"$work/declared"
: >"$work/exported"
version=$(pkg-config --modversion libarcp)
for name in arcp arcp-runtime arcp-client; do
    library=$libdir/lib$name.so.0
    nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' >"$work/symbols"
    # No private symbol is exported or imported; from libarcp only the release guard is imported.
    grep -vE "^arcp_[a-z][a-z0-9_]*@@ARCP_[0-9.]+\$|^arcp_release_guard@@ARCP_RELEASE_$version\$" "$work/symbols" >"$work/others" || true
    [ ! -s "$work/others" ] || fail "lib$name exports $(tr '\n' ' ' <"$work/others")"
    nm -D --undefined-only "$library" | awk '{ print $NF }' | grep arcp >"$work/imported" || true
    [ "$name" = arcp ] || expected=arcp_release_guard@ARCP_RELEASE_$version
    [ "$(cat "$work/imported")" = "${expected-}" ] || fail "lib$name imports $(tr '\n' ' ' <"$work/imported")"
    sed -n 's/^\(arcp_[a-z][a-z0-9_]*\)@@.*/\1/p' "$work/symbols" >>"$work/exported"
done
sort -u -o "$work/exported" "$work/exported"
comm -23 "$work/declared" "$work/exported" >"$work/missing"
comm -13 "$work/declared" "$work/exported" >"$work/undeclared"
[ ! -s "$work/missing" ] || fail "declared and not exported: $(tr '\n' ' ' <"$work/missing")"
[ ! -s "$work/undeclared" ] || fail "exported and not declared: $(tr '\n' ' ' <"$work/undeclared")"
echo "symbols: $(wc -l <"$work/exported") exported"

needed=$(readelf -d "$libdir/libarcp.so.0" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | tr '\n' ' ')
[ "$needed" = "libc.so.6 " ] || fail "libarcp needs $needed"
soname=$(readelf -d "$libdir/libarcp.so.0" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$soname" = libarcp.so.0 ] || fail "libarcp is called $soname"

# ---- libraries of two releases refuse to load together ----

mkdir "$work/other"
echo 'void arcp_release_guard(void) {}' >"$work/other.c"
echo 'ARCP_RELEASE_999.0.0 { global: arcp_release_guard; local: *; };' >"$work/other.map"
"$cc" -shared -fPIC "$work/other.c" -o "$work/other/libarcp.so.0" -Wl,-soname,libarcp.so.0 "-Wl,--version-script=$work/other.map"
for name in runtime client; do
    echo 'int main(void) { return 0; }' >"$work/empty.c"
    # shellcheck disable=SC2046 # a list of flags
    "$cc" "$work/empty.c" -o "$work/whole" -Wl,--no-as-needed $(pkg-config --libs "libarcp-$name")
    if LD_LIBRARY_PATH="$work/other:$libdir" "$work/whole" 2>"$work/output"; then
        fail "libarcp-$name loads with a libarcp of another release"
    fi
    grep -qF "version \`ARCP_RELEASE_$version' not found" "$work/output" || fail "libarcp-$name: $(cat "$work/output")"
done

# ---- static libraries are machine code, which another release of the compiler links too ----

for name in arcp arcp-runtime arcp-client; do
    readelf -SW "$libdir/lib$name.a" >"$work/sections" || fail "lib$name.a cannot be read"
    grep -qF .text "$work/sections" || fail "lib$name.a has no code"
    ! grep -E '\.gnu\.(debug)?lto_' "$work/sections" || fail "lib$name.a holds what only its own compiler reads"
done

# ---- a program outside the tree ----

runs() {
    if ! "$2" >"$work/output" 2>&1; then
        fail "$1: exit status $?: $(cat "$work/output")"
    elif [ "$(cat "$work/output")" != "$(printf '/srv/data.txt: allowed\n/srv/../etc/passwd: PERMISSION_DENIED')" ]; then
        fail "$1 printed: $(cat "$work/output")"
    else
        echo "ok   $1"
    fi
}

# shellcheck disable=SC2046 # a list of flags
"$cc" -std=c11 -Wall -Wextra -pedantic -Werror "$here/consumer.c" -o "$work/by_pkg_config" \
    $(pkg-config --cflags --libs libarcp)
runs "pkg-config, shared" "$work/by_pkg_config"
for name in libarcp libarcp-runtime libarcp-client; do
    pkg-config --print-errors --exists "$name" || fail "pkg-config does not know $name"
    # Linked whole: what each library needs is named.
    echo 'int main(void) { return 0; }' >"$work/empty.c"
    # shellcheck disable=SC2046 # a list of flags
    if ! "$cc" "$work/empty.c" -o "$work/whole" -Wl,--no-as-needed $(pkg-config --libs "$name") || ! "$work/whole"; then
        fail "a program with all of $name does not start"
    fi
done

# ---- a C++ program ----

"$here/cxx.sh" "$cxx" "$include" "$libdir" || fail "C++17"

# ---- the examples, each by the command in its first comment ----

root=$(cd "$here/../.." && pwd)
examples=$(find "$root/examples" "$root/recipes" -name '*.c' -exec grep -lE 'pkg-config --cflags --libs' {} + | sort)
[ "$(printf '%s\n' "$examples" | wc -l)" -ge 20 ] || fail "there are fewer examples than there were"
for example in $examples; do
    # Only what pkg-config is asked about is taken from the comment.
    # shellcheck disable=SC2016 # the comment's text
    packages=$(sed -n '1,10s/.*\$(pkg-config --cflags --libs \([a-z -]*\)).*/\1/p' "$example")
    # shellcheck disable=SC2046,SC2086 # lists of flags and of packages
    "$cc" -Wall -Wextra -Werror -o "$work/example" "$example" $(pkg-config --cflags --libs $packages) ||
        fail "$example with $packages"
    [ "$(wc -l <"$example")" -lt 120 ] || fail "$example has 120 lines or more"
done
echo "examples: $(printf '%s\n' "$examples" | wc -l), each by pkg-config"
python3 "$here/readme.py" "$root/README.md" "$cc" "$cxx" || fail "the programs of the README"

build_by_cmake() {
    cmake -S "$here/cmake" -B "$work/cmake" -DCMAKE_C_COMPILER="$cc" -DCONSUMER_DIR="$here" \
        -DCMAKE_PREFIX_PATH="$prefix" -G Ninja && cmake --build "$work/cmake"
}
if ! build_by_cmake >"$work/cmake.log" 2>&1; then
    cat "$work/cmake.log"
    fail "the CMake package"
fi
runs "CMake, shared" "$work/cmake/consumer"
runs "CMake, static" "$work/cmake/consumer_static"

# ---- the rest ----

for file in bin/arcp bin/arcpd share/man/man1/arcp.1 share/man/man8/arcpd.8 share/man/man8/arcp-worker.8 \
    share/arcp/arcp_agent.py share/arcp/arcp-agent.mjs share/arcp/arcp-agent.d.ts \
    share/man/man5/arcpd.yaml.5 share/man/man7/arcp-agent.7 share/man/man7/arcp-events.7 \
    share/bash-completion/completions/arcp share/zsh/site-functions/_arcp share/fish/vendor_completions.d/arcp.fish \
    share/bash-completion/completions/arcpd share/zsh/site-functions/_arcpd share/fish/vendor_completions.d/arcpd.fish \
    lib/systemd/system/arcpd.service lib/systemd/system/arcp-worker.service lib/systemd/system/arcpd.socket lib/sysusers.d/arcpd.conf share/doc/arcp/apparmor/arcp-sandbox; do
    [ -s "$prefix/$file" ] || fail "$file is not installed"
done
units=$prefix/lib/systemd/system
# They cover parts of /proc, so that no sandbox could mount its own, or deny openat2, by which it opens paths; the
# last one brings RestrictSUIDSGID.
if grep -E '^(ProtectKernelTunables|ProtectKernelLogs|ProtectHostname|ProtectProc|RestrictNamespaces|RestrictSUIDSGID|DynamicUser)=' \
    "$units/arcpd.service" "$units/arcp-worker.service"; then
    fail "a unit keeps sandboxes from having a /proc or namespaces"
fi
for line in NoNewPrivileges=yes Delegate=yes Type=notify OOMPolicy=continue KillMode=mixed User=arcp; do
    for unit in arcpd arcp-worker; do
        grep -qx "$line" "$units/$unit.service" || fail "$unit.service has no $line"
    done
done
for line in WatchdogSec=120 Wants=arcp-worker.service; do
    grep -qx "$line" "$units/arcpd.service" || fail "arcpd.service has no $line"
done
for line in StopWhenUnneeded=yes Restart=always "ExecStart=$(cache CMAKE_INSTALL_PREFIX)/$(cache CMAKE_INSTALL_LIBEXECDIR)/arcp/arcp-worker --local %S/arcp"; do
    grep -qxF "$line" "$units/arcp-worker.service" || fail "arcp-worker.service has no $line"
done
for program in arcp arcpd; do
    "$prefix/bin/$program" --version >"$work/output" 2>&1 || fail "$program --version"
    grep -qF "$(pkg-config --modversion libarcp)" "$work/output" || fail "$program says $(cat "$work/output")"
done
# Programs that `arcp` runs by its own commands' names, and which stand where it finds them.
libexec=$prefix/$(cache CMAKE_INSTALL_LIBEXECDIR)/arcp
for command in bench conformance replay; do
    [ -x "$libexec/arcp-$command" ] || fail "arcp-$command is not in libexec"
    [ ! -e "$prefix/bin/arcp-$command" ] || fail "arcp-$command is in bin"
    "$prefix/bin/arcp" "$command" --help >"$work/output" 2>&1 || fail "arcp $command --help: $(cat "$work/output")"
    grep -qF "usage: arcp $command " "$work/output" || fail "arcp $command --help says $(cat "$work/output")"
done
find "$work" -path "*/etc/arcp/arcpd.yaml" | grep -q . || fail "no configuration is installed"

[ "$failed" -eq 0 ] || exit 1
echo "installed and used"
