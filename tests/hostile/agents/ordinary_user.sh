#!/bin/sh
# arcpd ($ARCPD) as a user without rights, on a copy in the state directory, which that user can reach.
set -e
cp "$ARCPD" "$STATE_DIRECTORY/arcpd"
chown -R 65534:65534 "$STATE_DIRECTORY"
exec setpriv --reuid 65534 --regid 65534 --clear-groups --pdeathsig KILL "$STATE_DIRECTORY/arcpd" "$@"
