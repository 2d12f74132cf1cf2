#!/bin/sh
# A complete agent.
echo working
echo '{"type":"job.result","payload":{"result":"hello"}}'
