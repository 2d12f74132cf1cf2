#!/bin/sh
echo working
echo '{"type":"job.result","payload":{"result":"hello"}}'
