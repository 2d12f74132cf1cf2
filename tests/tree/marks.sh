#!/bin/sh
# Fails on what should not stand in the tree: files that hold two ideas, marks of work left
# undone, allocation that no test can make fail, white space at line ends, odd file names.
#
#   tests/tree/marks.sh ROOT
set -eu
cd "$1"

bad=0
# refuse TITLE FOUND: complains when something was found.
refuse() {
    if [ -n "$2" ]; then
        echo "$1:"
        printf '%s\n' "$2" | sed 's/^/  /'
        bad=1
    fi
}

tree() {
    find . \( -name .git -o -name build -o -name 'build-*' \) -prune -o -type f -print | sed 's|^\./||'
}
# The files whose name fits the expression, for xargs.
files() {
    tree | grep -E "$1" | tr '\n' '\0'
}
sources='\.(c|h|cc|def)$'
scripts='\.(sh|py|cmake)$|CMakeLists\.txt$|(^|/)Makefile$|^tools/|^\.ci/'
prose='\.(md|scd|yaml|yml)$'
tree | grep -qE "$sources" || {
    echo "no sources under $1"
    exit 1
}

refuse "longer than 600 lines: split by idea" \
    "$(tree | grep -E "$sources" | grep -v '^tests/' | tr '\n' '\0' | xargs -0 awk 'FNR == 601 { print FILENAME }')"
# A test program is one table after the other: it may be longer.
refuse "a test longer than 900 lines: split by idea" \
    "$(tree | grep -E '^tests/.*\.c$' | tr '\n' '\0' | xargs -0 awk 'FNR == 901 { print FILENAME }')"

# The words are put together here so that this file does not find itself.
undone='TO''DO|FIX''ME|XX''X|HA''CK'
refuse "work left undone" \
    "$(files "$sources|$scripts|$prose" | xargs -0 grep -nIE "\\b($undone)\\b" /dev/null)"

refuse "allocates past base/alloc.h" \
    "$(tree | grep -E '^src/.*\.[ch]$' | grep -v '^src/base/alloc\.c$' | tr '\n' '\0' |
        xargs -0 grep -nE '(^|[^_[:alnum:].>])(malloc|calloc|realloc|reallocarray|strdup|strndup|asprintf|free)\(' /dev/null |
        grep -vE ':[[:space:]]*(/?\*|//)')"

refuse "white space at the end of a line" \
    "$(files "$sources|$scripts|$prose" | xargs -0 grep -nIE '[[:space:]]+$' /dev/null)"

refuse "file names outside A-Z a-z 0-9 . _ - @ +" \
    "$(tree | grep -v '^fuzz/corpus/' | grep -E '[^A-Za-z0-9._/@+-]')"

elsewhere='\.\./sha''red|/wo''rk/'
refuse "names a place outside the tree" \
    "$(files "$sources|$scripts|$prose" | xargs -0 grep -nIE "$elsewhere" /dev/null)"

[ "$bad" -eq 0 ] || exit 1
echo "marks: $(tree | wc -l) files"
