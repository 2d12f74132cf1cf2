#!/bin/sh
# Ends with the error code that it is given: {"code": "..."}
read -r line
code=$(printf '%s' "$line" | sed 's/.*"code":"\([A-Z_]*\)".*/\1/')
echo "{\"type\":\"job.error\",\"payload\":{\"code\":\"$code\",\"message\":\"as asked\"}}"
