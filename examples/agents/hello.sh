#!/bin/sh
# An agent in sh: reports progress, asks before it reads, calls a tool, returns a result.
# (printf, not echo: echo of some shells changes backslashes, and JSON has those.)
say() { printf '%s\n' "$1"; }

# Waits for the response to line $1, and keeps it in $answer; true unless it is an error.
answer_to() {
    while read -r answer; do
        case $answer in
        *'"type":"job.cancel"'*) exit 1 ;;
        *'"re":"'"$1"'"'*'"error":'*) return 1 ;;
        *'"re":"'"$1"'"'*) return 0 ;;
        esac
    done
    exit 1
}
give_up() {
    say '{"type":"job.error","payload":{"code":"PERMISSION_DENIED","message":"'"$1"'"}}'
    exit 0
}

read -r start # job.start
name=$(printf '%s' "$start" | sed 's/.*"input":{"name":"\([^"\\]*\)".*/\1/')
say '{"type":"job.event","payload":{"kind":"progress","body":{"current":1,"total":2}}}'
say '{"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/srv/hello.txt"}}'
answer_to 1 || give_up 'I may not read /srv/hello.txt'
say '{"type":"job.event","id":"2","payload":{"kind":"tool_call","body":{"tool":"greet.compose","call_id":"call-1","args":{"name":"'"$name"'"}}}}'
answer_to 2 || give_up 'I may not call greet.compose'
say '{"type":"job.event","payload":{"kind":"tool_result","body":{"call_id":"call-1","result":"hello, '"$name"'"}}}'
say '{"type":"job.event","payload":{"kind":"progress","body":{"current":2,"total":2}}}'
say '{"type":"job.result","payload":{"result":"hello, '"$name"'"}}'
