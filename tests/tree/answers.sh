#!/bin/sh
# Fails when the architecture page names a function that its file does not define, or a file that is
# not there.
#
#   tests/tree/answers.sh ROOT
#
# A function is `folder/file.c:function` in backticks; the file is looked for in src/. A file is `file.c`,
# with the end of the path that leads to it or without; it is looked for everywhere.
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
# Headers in the table of folders are for layers.sh.
# shellcheck disable=SC2016 # Markdown
for name in $(grep -v '^| `[a-z]*` |' docs/architecture.md | grep -o '`[a-z0-9_/]*\.\(c\|h\|def\|sh\|txt\)`' |
    tr -d '`' | sort -u); do
    if [ -z "$(find ./src ./include ./tests -path "*/$name")" ]; then
        echo "docs/architecture.md: no file is $name"
        bad=1
    fi
done
[ "$bad" -eq 0 ] || exit 1
echo "answers: $(printf '%s\n' "$names" | wc -l) functions"
