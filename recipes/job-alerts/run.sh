#!/bin/sh
# Two jobs, and the notifications of them that the receiver got. A request that is not signed is refused.
set -eu
await() {
    while [ "$(wc -l <alerts)" -lt "$1" ]; do
        sleep 0.1
    done
}
arcp submit good >seen 2>&1
await 1
arcp submit bad >seen 2>&1 || true
await 2
cat alerts
python3 -c 'import sys, urllib.request, urllib.error
try:
    urllib.request.urlopen(sys.argv[1], b"{}")
except urllib.error.HTTPError as error:
    print("not signed:", error.code)' "$ALERTS_URL/jobs"
