#!/bin/sh
# Parses the profile for AppArmor as a host would, without loading it. A parser before 4.0 knows no rule
# `userns`: it parses the profile without it.
#
#   tests/install/apparmor.sh PROFILE
#
# APPARMOR_PARSER and APPARMOR_DIR (default: /etc/apparmor.d) name others than those of the host.
set -eu
profile=$1
parser=${APPARMOR_PARSER:-$(PATH=$PATH:/sbin:/usr/sbin command -v apparmor_parser || :)}
folder=${APPARMOR_DIR:-/etc/apparmor.d}
if [ -z "$parser" ] || [ ! -d "$folder/abi" ]; then
    echo "no apparmor_parser: the profile was not parsed"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$profile" "$work/profile"
if [ ! -e "$folder/abi/4.0" ]; then
    sed -e 's, <abi/4.0>, <abi/3.0>,' -e '/^ *userns,$/d' "$profile" >"$work/profile"
    echo "this parser is older than 4.0: parsed without the rule userns"
fi
"$parser" -QTK --base "$folder" "$work/profile"
# A parser that accepts anything would prove nothing.
sed 's/include if exists/includes if exists/' "$work/profile" >"$work/broken"
if "$parser" -QTK --base "$folder" "$work/broken" >/dev/null 2>&1; then
    echo "the parser accepts a broken profile"
    exit 1
fi
