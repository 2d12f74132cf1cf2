# shellcheck shell=sh
# The helpers for agents in Python and JavaScript: `make install` puts them into PREFIX/share/arcp.
cp "$(dirname "$(command -v arcpd)")/../share/arcp/"* .
