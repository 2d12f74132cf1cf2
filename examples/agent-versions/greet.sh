#!/bin/sh
# arcpd.yaml passes the version on the command line.
echo "{\"type\":\"job.result\",\"payload\":{\"result\":\"hello from $1\"}}"
