#!/bin/sh
# One log line and a string.
echo working
echo '{"type":"job.result","payload":{"result":"hello"}}'
