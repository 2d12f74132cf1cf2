#!/bin/sh
# Fails when the architecture page names a function that its file does not define.
#
#   tests/tree/answers.sh ROOT
#
# A name is `folder/file.c:function` in backticks; the file is looked for in src/.
set -eu
cd "$1"

# shellcheck disable=SC2016 # Markdown
names=$(grep -o '`[a-z0-9_]*/[a-z0-9_]*\.[ch]:[^`]*`' docs/architecture.md | tr -d '`' | sort -u)
[ -n "$names" ] || {
    echo "docs/architecture.md names no function"
    exit 1
}

bad=0
for name in $names; do
    file=src/${name%%:*}
    if [ ! -f "$file" ]; then
        echo "docs/architecture.md: $file is not there"
        bad=1
    # A definition begins in the first column, and a brace comes before the next semicolon.
    elif ! awk -v name="${name#*:}" '
        /^[a-z]/ { begins = match($0, "[ *]" name "\\(") }
        /^{/ && begins { found = 1 }
        /;$/ { begins = 0 }
        END { exit !found }' "$file"; then
        echo "docs/architecture.md: $file does not define ${name#*:}"
        bad=1
    fi
done
[ "$bad" -eq 0 ] || exit 1
echo "answers: $(printf '%s\n' "$names" | wc -l) functions"
