#!/bin/sh
# Which version this is, arcpd.yaml says on the command line.
echo "{\"type\":\"job.result\",\"payload\":{\"result\":\"hello from $1\"}}"
