#!/bin/sh
# The librarian may read public notes. Prints its calls and their results.
set -eu
arcp --json submit librarian --grant tool.call=notes.read --grant 'fs.read=/notes/public/**' >events
sed -n 's/.*"kind":"log".*"message":"\(.*\)".*/\1/p' events
echo "== what the job says of its tools"
sed -n 's/.*"kind":"\(tool_[a-z]*\)".*"tool":"\([a-z.]*\)".*/\1 \2/p; s/.*"kind":"\(tool_result\)".*"code":"\([A-Z_]*\)".*/\1 \2/p; s/.*"kind":"\(tool_result\)".*"result":\("[^"]*"\).*/\1 \2/p' events
