#!/bin/sh
# Sends a log event and returns a string.
echo working
echo '{"type":"job.result","payload":{"result":"hello"}}'
