#!/bin/sh
# The librarian may read public notes. Prints its calls and their results.
set -eu
arcp --json submit librarian --grant tool.call=notes.read --grant 'fs.read=/notes/public/**' >events
sed -n 's/.*"final_status".*"result":\["\(.*\)"\].*/\1/p' events | sed 's/","/\n/g'
echo "== what the runtime says of its tools"
sed -n 's/.*"kind":"\(tool_[a-z]*\)".*"tool":"\([a-z.]*\)".*/\1 \2/p; s/.*"phase":"\(denied\)".*"message":"\([^"]*\)".*/\1 \2/p' events
