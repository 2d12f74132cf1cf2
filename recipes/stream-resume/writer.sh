#!/bin/sh
# Streams four lines. After the second it waits until the named pipe `go` in its folder is opened.
chunk() {
    printf '{"type":"result.chunk","payload":{"data":"%s\\n","encoding":"utf8","more":%s}}\n' "$1" "$2"
}
chunk one true
chunk two true
read -r _ <"$(dirname "$0")/go"
chunk three true
chunk four false
