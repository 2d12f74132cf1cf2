#!/bin/sh
# Submits the same job to the same agent in C, sh, Python and Node: all print the same.
set -eu
submit() {
    arcp --json submit "hello-$1" --input '{"name":"world"}' --grant fs.read=/srv/hello.txt --grant "$2" |
        grep -v '"phase":"enforcement"' | # what a program needs beside its lease differs by language
        sed 's/,*"\(job_id\|ts\|event_seq\|completed_at\)":\("[^"]*"\|[0-9]*\)//g'
}
for grant in tool.call=greet.compose tool.call=nothing; do
    echo "== with $grant"
    submit c "$grant" >c.out || true
    cat c.out
    for language in sh py js; do
        if [ "$language" = js ] && ! command -v node >which.out; then
            echo "hello.mjs is not run: there is no node here" >&2
            continue
        fi
        submit "$language" "$grant" >"$language.out" || true
        diff c.out "$language.out" || true
    done
done
