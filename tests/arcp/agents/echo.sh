#!/bin/sh
# Its whole job.start, as the result.
read -r line
echo "{\"type\":\"job.result\",\"payload\":{\"result\":$line}}"
