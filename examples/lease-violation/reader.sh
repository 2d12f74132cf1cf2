#!/bin/sh
# Asks before it acts. Its input file is necessary; the other operations are optional.
say() { printf '%s\n' "$1"; }

# Waits for the response to the line with id $1, and keeps it in $answer; true unless it is an error.
answer_to() {
    while read -r answer; do
        case $answer in
        *'"re":"'"$1"'"'*'"error":'*) return 1 ;;
        *'"re":"'"$1"'"'*) return 0 ;;
        esac
    done
    exit 1
}

say '{"type":"authorize","id":"1","payload":{"capability":"fs.read","target":"/srv/a.txt"}}'
if ! answer_to 1; then
    say '{"type":"job.error","payload":{"code":"PERMISSION_DENIED","message":"I need /srv/a.txt"}}'
    exit 0
fi
say 'may read /srv/a.txt'
say '{"type":"authorize","id":"2","payload":{"capability":"fs.read","target":"/srv/../etc/shadow"}}'
answer_to 2 || say 'may not read /srv/../etc/shadow'
# A tool_call asks implicitly; if it is denied, the runtime sends a tool_result with the error.
say '{"type":"job.event","id":"3","payload":{"kind":"tool_call","body":{"tool":"shell.run","call_id":"c1","args":{"command":"ls"}}}}'
answer_to 3 || say 'may not call shell.run'
say '{"type":"job.result","payload":{"result":"read what I may"}}'
