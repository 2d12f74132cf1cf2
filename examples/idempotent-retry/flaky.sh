#!/bin/sh
# Fails the first time, and marks that with a file beside itself.
note=$(dirname "$0")/flaky.note
if [ -e "$note" ]; then
    rm "$note"
    echo '{"type":"job.result","payload":{"result":"worked the second time"}}'
else
    : >"$note"
    echo '{"type":"job.error","payload":{"code":"INTERNAL_ERROR","message":"upstream is away","retryable":true}}'
fi
