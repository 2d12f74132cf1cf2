#!/bin/sh
# Fails when a table of promises names a test that is not there: in tests/*/README.md, in the last column of each
# table whose heading there is "test", "story", "shown by" or "here", each span of code must be a name or a path of
# the tree's tests, and each quoted text a row of one, or a heading (a comment) of rows.
#
#   tests/tree/promises.sh ROOT
#
# A `*` in a name stands for letters, digits and "_" (`launch_sandbox_*`).
set -eu
cd "$1"

pages=$(find tests -name README.md)
[ -n "$pages" ] || {
    echo "no README.md below $1/tests"
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What there is, a kind and a text on each line: the words of tests and fuzzers, the names of their files, which are
# also those of programs and tests, quoted texts, and the first words of comments.
find tests fuzz -type f ! -name '*.md' ! -path '*/corpus/*' >"$work/files"
xargs cat <"$work/files" >"$work/text"
{
    grep -aoE '[A-Za-z0-9_]+' "$work/text"
    sed 's,.*/,,' "$work/files"
    sed -E 's,.*/,,; s,\.[a-z]+$,,' "$work/files"
    # A test that a list of ideas makes has the folder and the file in its name.
    sed -nE 's,^tests/([a-z]+)/([a-z_]+)\.[a-z]+$,\1_\2,p' "$work/files"
} | sort -u | sed 's/^/word /' >"$work/known"
{
    grep -aoE "\"[^\"]+\"|'[^']+'" "$work/text" | sed -E 's/^.(.*).$/row \1/'
    grep -aoE '/\* [A-Z].*' "$work/text" | sed 's,^.. ,heading ,'
    sed -nE 's/^([a-z-]+( [a-z-]+)*):.*/\1/p' Makefile | tr ' ' '\n' | sed 's/^/word make /'
} | sort -u >>"$work/known"

# The names in tables: page, line, kind, name.
# shellcheck disable=SC2086 # one word per file
awk -F'|' '
!/^\|/ { is_table = 0; next }
!is_table { is_table = 1; is_promises = $(NF - 1) ~ /^ (tests?|story|shown by|here) $/; next }
is_promises {
    cell = $(NF - 1)
    while (match(cell, /`[^`]+`|"[^"]+"/)) {
        kind = substr(cell, RSTART, 1) == "\"" ? "row" : "word"
        print FILENAME "\t" FNR "\t" kind "\t" substr(cell, RSTART + 1, RLENGTH - 2)
        cell = substr(cell, RSTART + RLENGTH)
    }
}' $pages >"$work/names"

awk -F'\t' '
FNR == NR {
    known[$0] = 1
    if ($0 ~ /^heading /) headings[++count] = substr($0, 9)
    next
}
function is_path(name) { return system("[ -e " name " ]") == 0 }
function begins_heading(text,   i) {
    for (i = 1; i <= count; i++)
        if (index(headings[i], text) == 1) return 1
    return 0
}
function is_pattern_of_one(pattern,   name) {
    gsub(/\*/, "[A-Za-z0-9_]*", pattern)
    for (name in known)
        if (name ~ "^word " pattern "$") return 1
    return 0
}
{
    named++
    if (($3 " " $4) in known) next
    if ($3 == "row" ? begins_heading($4) : $4 ~ /\// ? is_path($4) : $4 ~ /\*/ && is_pattern_of_one($4)) next
    print $1 ":" $2 ": there is no test `" $4 "`"
    bad = 1
}
END {
    if (!named) {
        print "no table names a test"
        bad = 1
    }
    if (!bad) print "promises: " named " tests are named"
    exit bad
}' "$work/known" "$work/names"
