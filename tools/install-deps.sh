#!/bin/sh
# Installs the Debian packages that ARCP is built from, and says which.
#
#   tools/install-deps.sh          what `make`, `make demo` and `make test` need
#   tools/install-deps.sh --dev    also what `make lint`, `asan`, `fuzz`, ... need
#   tools/install-deps.sh --docs   also what `make docs` needs
#   tools/install-deps.sh --python what `make python` needs, besides
#   tools/install-deps.sh --packages what `make deb`, `make image` and `make packages` need, besides
#   tools/install-deps.sh --browser  also the browser with which the dashboard is tested (400 MB)
#   tools/install-deps.sh --interop  also what `make interop` needs to install the SDKs
#   tools/install-deps.sh --list   the packages and what each is for; installs nothing
#
# Does nothing, and prints nothing, where everything is there. Installing takes root;
# without it the command for root is printed. Nothing but Debian packages is fetched.
set -eu

build='
gcc                the C compiler
g++                tests: the public headers compile as C++
libc6-dev          the C library
cmake              the build
ninja-build        the build
pkg-config         the build; tests: a consumer of the installed libraries
libuv1-dev         event loop, processes
libwslay-dev       WebSocket framing
libhttp-parser-dev HTTP upgrade of WebSocket connections
libssl-dev         TLS, hashes, random numbers
libsqlite3-dev     the durable store
libyaml-dev        configuration
libcurl4-openssl-dev credentials from an upstream, traces (modules)
libpq-dev          the store in PostgreSQL (a module)
uthash-dev         hash tables and lists
libcmocka-dev      tests
scdoc              man pages
openssl            tests: certificates of receivers
python3            tests: agents of examples and recipes
'
dev='
git                tests of the tree itself
postgresql-15      tests: the store in PostgreSQL
clang              second compiler, libFuzzer
clang-format       make format, make lint
clang-tidy         make lint
libclang-rt-14-dev sanitizer and fuzzer runtimes of clang
shellcheck         make lint
apparmor           tests: the profile is parsed
gcc-aarch64-linux-gnu tests: the sandbox compiles for aarch64
libc6-dev-arm64-cross tests: the sandbox compiles for aarch64
mold               links tests, in less time
abigail-tools      tests: the binary interface of the libraries; make abi
zsh                tests: completion
fish               tests: completion
valgrind           make valgrind
gcovr              make coverage
python3-pytest     tests of the Python package
mypy               tests of the Python package
'
docs='
doxygen            make docs: the public headers
mkdocs             make docs: the site
mkdocs-material    make docs: how it looks
'
python='
python3-dev        make python: the compiled module
python3-cffi       make python: the compiled module
python3-setuptools make python: the wheel
python3-wheel      make python: the wheel
python3-venv       make python: an environment of its own
'

browser='
chromium           tests: the dashboard
chromium-driver    tests: the dashboard
'

interop='
python3-venv       make interop: the Python SDK in a folder of its own
'

packages='
debhelper          make deb
dh-python          make deb: the Python package
python3-dev        make deb: the Python package
python3-cffi       make deb: the Python package
python3-setuptools make deb: the Python package
lintian            make deb: checks the packages
debootstrap        make image, make packages: a bare Debian 12
iproute2           make packages: a network of its own
buildah            make image
systemd-container  make packages: the unit under systemd
'

usage() {
    sed -n '2,14s/^# \{0,1\}//p' "$0"
}

wanted=$build
case "${1-}" in
'') ;;
--dev) wanted="$build$dev$python" ;;
--docs) wanted="$build$docs" ;;
--python) wanted="$build$python" ;;
--packages) wanted="$build$packages" ;;
--browser) wanted="$build$browser" ;;
--interop) wanted="$build$interop" ;;
--list)
    echo "To build and test:$build"
    echo "To work on the code, besides:$dev$python"
    echo "To build the documentation, besides:$docs"
    echo "To make Debian packages and the image, besides:$packages"
    echo "To test the dashboard in a browser, besides:$browser"
    echo "To play the published SDKs, besides:$interop"
    exit 0
    ;;
--help)
    usage
    exit 0
    ;;
*)
    usage >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    # Not Debian: CMake's own messages name what is missing.
    exit 0
fi

names=$(printf '%s' "$wanted" | awk 'NF { print $1 }')
# shellcheck disable=SC2086 # one word per package
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $names 2>/dev/null |
    awk '$2 == "installed" { print $1 }') || true
missing=
for name in $names; do
    printf '%s\n' "$installed" | grep -qx -- "$name" || missing="$missing $name"
done
missing=${missing# }
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    {
        echo "Missing Debian packages: $missing"
        echo "As root: apt-get install -y --no-install-recommends $missing"
    } >&2
    exit 1
fi

echo "Installing Debian packages: $missing"
export DEBIAN_FRONTEND=noninteractive
# Quiet when all goes well, everything when it does not.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    # shellcheck disable=SC2086 # one word per package
    apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends $missing >"$log" 2>&1
}
# A fresh system has no package lists, an old one has lists of packages that are gone.
if ! install; then
    if ! { apt-get -o DPkg::Lock::Timeout=120 update && install; } >"$log" 2>&1; then
        cat "$log" >&2
        echo "Installing failed; see above." >&2
        exit 1
    fi
fi
echo "Installed."
