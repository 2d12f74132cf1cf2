#!/bin/sh
# Returns its complete job.start.
read -r line
echo "{\"type\":\"job.result\",\"payload\":{\"result\":$line}}"
