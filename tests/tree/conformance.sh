#!/bin/sh
# Fails when CONFORMANCE.md is not what tools/conformance would write, or when a requirement that binds
# us lacks the code that keeps it or the test that proves it.
#
#   tests/tree/conformance.sh ROOT
set -eu
exec python3 "$(dirname "$0")/../../tools/conformance" --check "$1"
