#!/bin/sh
# Fails when a row of include/arcp/settings.def is missing from the shipped configuration or
# from its manual page, or stands there with another default.
#
#   tests/tree/settings.sh ROOT
set -eu
cd "$1"

# group key default, for each row.
rows=$(sed -n 's/^ARCP_SETTING_[A-Z]*(\([a-z_]*\), *\([a-z_]*\), *"\{0,1\}\([a-z0-9_]*\)"\{0,1\},.*/\1 \2 \3/p' \
    include/arcp/settings.def)
total=$(grep -c '^ARCP_SETTING_' include/arcp/settings.def) || true
[ "$total" -gt 0 ] || {
    echo "settings.def has no rows"
    exit 1
}
[ "$(printf '%s\n' "$rows" | wc -l)" -eq "$total" ] || {
    echo "settings.def has rows that could not be read"
    exit 1
}

# group key value, for each "group:" and its indented "key: value" lines.
yaml=$(sed 's/ *#.*//' packaging/arcpd.yaml |
    awk '/^[a-z_]+:/ { group = $1; sub(/:.*/, "", group); next }
         /^  [a-z_]+: / { key = $1; sub(/:$/, "", key); print group, key, $2 }')

bad=0
while read -r group key default; do
    if ! printf '%s\n' "$yaml" | grep -qxF -- "$group $key $default"; then
        echo "packaging/arcpd.yaml: $group: $key: $default is not there"
        bad=1
    fi
    if ! grep -qE "\*($group\\.)?$key\*: $default([^0-9]|\$)" man/arcpd.yaml.5.scd; then
        echo "man/arcpd.yaml.5.scd: *$group.$key*: $default is not there"
        bad=1
    fi
done <<ROWS
$rows
ROWS
[ "$bad" -eq 0 ] || exit 1
echo "settings: $total rows"
