#!/bin/sh
# A job with a budget of five cents for one model. Afterwards the gateway has no valid key left.
set -eu
arcp --json submit chat --grant "net.fetch=$GATEWAY_URL/**" --grant model.use=gpt-4o-mini --budget USD:0.05 --expires-in 10m >events || status=$?
sed -n 's/.*"kind":"log".*"message":"\(.*\)".*/\1/p; s/.*"final_status":"\([a-z]*\)".*"code":"\([A-Z_]*\)".*/\1: \2/p' events |
    sed 's/\\"/"/g'
echo "exit status ${status:-0}"
echo "values in the events: $(grep -c 'sk-' events)"
python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())' "$GATEWAY_URL"
