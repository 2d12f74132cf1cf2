# Sourced before arcpd is started: `. ./start.sh`. Starts the stand-in for a provider and creates arcpd.yaml from
# arcpd.yaml.in with its address. With a real provider: put its URL, its models and LiteLLM's price file there, export its
# key, and do not source this file.
# shellcheck shell=sh
PROVIDER_KEY=sk-of-the-stand-in
export PROVIDER_KEY
mkfifo provider.ready
python3 ./provider.py >provider.ready &
helper=$! # to be stopped afterwards
read -r PROVIDER_URL <provider.ready
export helper
sed "s|PROVIDER_URL|$PROVIDER_URL|" arcpd.yaml.in >arcpd.yaml
