#!/bin/sh
# Fails with the error code of its input: {"code": "..."}
read -r line
code=$(printf '%s' "$line" | sed 's/.*"code":"\([A-Z_]*\)".*/\1/')
echo "{\"type\":\"job.error\",\"payload\":{\"code\":\"$code\",\"message\":\"as asked\"}}"
