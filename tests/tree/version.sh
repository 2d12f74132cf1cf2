#!/bin/sh
# Fails when the version, which CMakeLists.txt has, is written in a source too, or when the Debian packages, the Python
# package or a helper for agents, whose archives need a copy, have another one.
#
#   tests/tree/version.sh ROOT
set -eu
cd "$1"

version=$(sed -n 's/^project(arcp VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
[ -n "$version" ] || {
    echo "CMakeLists.txt has no version"
    exit 1
}
bad=0
for copy in $(find bindings helpers -name pyproject.toml -o -name __init__.py -o -name package.json 2>/dev/null | sort); do
    written=$(sed -nE 's/^ *"?(__version__|version)"?( =|:) "(.*)",?$/\3/p' "$copy")
    if [ -n "$written" ] && [ "$written" != "$version" ]; then
        echo "$copy: version $written, CMakeLists.txt has $version"
        bad=1
    fi
done
debian=$(sed -n '1s/^arcp (\(.*\)).*/\1/p' packaging/debian/changelog)
if [ "$debian" != "$version" ]; then
    echo "packaging/debian/changelog: version $debian, CMakeLists.txt has $version"
    bad=1
fi
pattern=$(printf '%s' "$version" | sed 's/\./\\./g')
if grep -rnE "(^|[^0-9.])$pattern([^0-9.]|\$)" src include tests cmake packaging man \
    --include='*.[chd]*' --include='*.cmake' --include=CMakeLists.txt --include='*.in' --include='*.scd'; then
    echo "the version stands in CMakeLists.txt; use ARCP_VERSION_STRING or PROJECT_VERSION"
    bad=1
fi
[ "$bad" -eq 0 ] || exit 1
echo "version: $version"
