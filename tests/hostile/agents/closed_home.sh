#!/bin/sh
# arcpd ($ARCPD) with its state in a home directory that other users cannot enter, and a /var/lib of
# its own.
HOME=$STATE_DIRECTORY
export HOME
unset STATE_DIRECTORY XDG_STATE_HOME
# shellcheck disable=SC2016 # the inner shell expands it
exec unshare -m sh -c 'mount -t tmpfs -o mode=755 tmpfs /var/lib && exec "$ARCPD" "$@"' sh "$@"
