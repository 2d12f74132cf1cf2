#!/bin/sh
# The agent of the README.
echo working
echo '{"type":"job.result","payload":{"result":"hello"}}'
