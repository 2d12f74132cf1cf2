#!/bin/sh
# Fails when a Markdown file of the tree links to a file, or a heading of its own, that is not there.
#
#   tests/tree/links.sh ROOT
set -eu
cd "$1"

pages=$(find . \( -name .git -o -name build -o -name 'build-*' \) -prune -o -name '*.md' -print)
[ -n "$pages" ] || {
    echo "no Markdown under $1"
    exit 1
}
# One line per link: page, line, target. Code spans and fenced blocks hold no links.
# shellcheck disable=SC2086 # one word per file; names have no spaces (tests/tree/marks.sh)
links=$(awk '
FNR == 1 { fenced = 0 }
/^[ \t]*```/ { fenced = !fenced; next }
fenced { next }
{
    rest = $0
    gsub(/`[^`]*`/, "", rest)
    while (match(rest, /\]\([^) ]+\)/)) {
        print FILENAME, FNR, substr(rest, RSTART + 2, RLENGTH - 3)
        rest = substr(rest, RSTART + RLENGTH)
    }
}' $pages)

# The anchor that a renderer gives a heading.
anchors() {
    sed -n 's/^#\{1,6\} *//p' "$1" | tr '[:upper:]' '[:lower:]' | sed "s/[^a-z0-9 _-]//g; s/ /-/g"
}

bad=0
count=0
while read -r page line target; do
    [ -n "$page" ] || continue
    case $target in
    http://* | https://* | mailto:*) continue ;;
    esac
    count=$((count + 1))
    path=${target%%#*}
    file=$page
    [ -z "$path" ] || file=$(dirname "$page")/$path
    if [ ! -e "$file" ]; then
        echo "$page:$line: $target is not there"
        bad=1
    elif [ "$target" != "$path" ] && ! anchors "$file" | grep -qxF -- "${target#*#}"; then
        echo "$page:$line: $file has no heading ${target#*#}"
        bad=1
    fi
done <<LINKS
$links
LINKS
[ "$bad" -eq 0 ] || exit 1
echo "links: $count"
