#!/bin/sh
# Reports whether it got a credential; a real agent would call the endpoint with it.
read -r start
case $start in
*'"credentials":['*'"value":"'*) echo '{"type":"job.result","payload":{"result":"has a credential"}}' ;;
*) echo '{"type":"job.result","payload":{"result":"has none"}}' ;;
esac
