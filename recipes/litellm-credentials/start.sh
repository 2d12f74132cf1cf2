# Sourced before arcpd is started: `. ./start.sh`. Starts the stand-in for a LiteLLM proxy and
# creates arcpd.yaml from arcpd.yaml.in with its address. With a real proxy: put its URL there, export
# its master key, and do not source this file.
# shellcheck shell=sh
LITELLM_MASTER_KEY=sk-master-of-the-stand-in
export LITELLM_MASTER_KEY
mkfifo gateway.ready
python3 ./gateway.py >gateway.ready &
helper=$! # to be stopped afterwards
read -r GATEWAY_URL <gateway.ready
export helper GATEWAY_URL
sed "s|GATEWAY_URL|$GATEWAY_URL|" arcpd.yaml.in >arcpd.yaml
