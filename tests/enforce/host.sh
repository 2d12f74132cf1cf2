#!/usr/bin/env bash
# A host of which we know that it can confine programs wholly does: else most of the tests of sandboxes
# would be skipped, or run at a lower level, and no result would show it.
#
#   tests/enforce/host.sh BIN_DIR
set -euo pipefail

bin=$1
IFS=.- read -r major minor _ <<<"$(uname -r)"
if [ "$(id -u)" != 0 ] || [ "$major" -lt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -lt 18 ]; } ||
    ! grep -q '^VERSION_ID="12"' /etc/os-release || ! grep -q '^ID=debian' /etc/os-release; then
    echo "NOT RUN: only Debian 12 as root with Linux 6.18 or later is known to have level full"
    exit 77
fi
status=0
text=$("$bin/arcp" doctor) || status=$?
if [ "$status" != 0 ]; then
    echo "$text"
    echo "this host has level full when nothing is broken; arcp doctor ends with $status"
    exit 1
fi
