#!/bin/sh
# Streams its result: text, and one piece in base64, as for binary data. (printf
# '%s', not echo: echo of some shells changes the backslashes of JSON.)
chunk() {
    printf '{"type":"result.chunk","payload":{"data":"%s","encoding":"%s","more":%s}}\n' "$1" "$2" "$3"
}
chunk 'a stream is read\n' utf8 true
chunk "$(printf 'as it comes, piece by piece\n' | base64)" base64 true
chunk 'and then it ends\n' utf8 false
echo '{"type":"job.result","payload":{"summary":"three lines"}}'
