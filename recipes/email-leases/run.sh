#!/bin/sh
# First the lease alone, without a runtime; then a job with this lease.
set -eu
arcp lease lint @lease.json || exit 1
arcp lease check @lease.json x-vendor.acme.email.send ann@acme.example
arcp lease check @lease.json x-vendor.acme.email.send eve@acme.example.evil.example || true
echo "== the job"
arcp --json submit mail --lease @lease.json \
    --input '{"send_to":["ann@ACME.example","books@accountant.example","eve@elsewhere.example"]}' >events
sed -n 's/.*"kind":"log".*"message":"\(.*\)".*/\1/p; s/.*"kind":"\(x-vendor[^"]*\)".*"body":\({[^}]*}\).*/\1 \2/p' events
