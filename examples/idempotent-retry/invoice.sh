#!/bin/sh
# What must not happen twice.
echo '{"type":"job.result","payload":{"result":"sent"}}'
