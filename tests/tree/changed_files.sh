#!/bin/sh
# Which files tools/changed-files prints: each case changes a small repository, and names the files.
#
#   tests/tree/changed_files.sh ROOT
set -eu
script=$1/tools/changed-files
command -v git >/dev/null || {
    echo "skipped: no git"
    exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 \
    GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.com GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.com
failed=0
cases=0

git init -q "$work/tree"
cd "$work/tree"
mkdir -p src/audit src/core src/json include/arcp tests/core
echo 'int x;' | tee src/core/budget.c >src/json/scan.c
# A header that two files of its folder and one of another include.
echo '#include "core/lease.h"' | tee src/core/lease.c src/core/narrow.c >src/audit/about_leases.c
# One that no file of its folder includes, and one that only its folder's file includes, by its name.
echo '#include "json/put.h"' >src/core/text.c
echo '#include "own.h"' | tee src/json/zone.c >src/core/own_test.c
# A table that a header includes, which another header includes.
echo '#include <arcp/status.def>' >include/arcp/error.h
echo '#include <arcp/error.h>' >src/core/fault.h
echo '#include "core/fault.h"' >tests/core/fault_test.c
echo 'ROW(1)' | tee include/arcp/status.def >include/arcp/unused.def
echo 'struct x;' | tee src/core/lease.h src/json/put.h src/json/own.h >src/json/alone.h
echo 'text' >README.md
git add .
git commit -qm first

# prints WHAT "FILES": the files that are printed since the first commit; then the change is undone.
prints() {
    cases=$((cases + 1))
    git add --all
    # Alternately in the working tree and in a commit.
    [ $((cases % 2)) -eq 0 ] || git commit -qm "$1" --allow-empty
    got=$("$script" "$first" | tr '\n' ' ')
    [ "$got" = "${2:+$2 }" ] || {
        echo "$1: printed '$got', expected '$2'"
        failed=1
    }
    git reset -q --hard "$first"
}

first=$(git rev-parse HEAD)
prints "nothing has changed" ""
echo text >>README.md
prints "a page is no C file" ""
echo 'int y;' | tee -a src/json/scan.c >>src/core/budget.c
prints "C files that changed" "src/core/budget.c src/json/scan.c"
echo 'int y;' >src/core/new.c
prints "a C file that was added" "src/core/new.c"
git mv src/core/budget.c src/core/purse.c
prints "a C file that was renamed, by its new name" "src/core/purse.c"
rm src/core/budget.c
prints "a C file that was removed is not there to be read" ""
echo 'struct y;' >>src/core/lease.h
prints "a header: one file of its own folder, although others include it too" "src/core/lease.c"
echo 'struct y;' >>src/json/put.h
prints "a header that no file of its folder includes: one of another folder" "src/core/text.c"
echo 'struct y;' >>src/json/own.h
prints "a header that is included by its bare name: in its own folder only" "src/json/zone.c"
echo 'ROW(2)' >>include/arcp/status.def
prints "a table that only headers include: a file that includes these" "tests/core/fault_test.c"
echo 'struct y;' | tee -a src/json/alone.h >>include/arcp/unused.def
prints "a header and a table that no file includes" ""
rm src/core/lease.h
prints "a header that was removed" ""
echo 'int y;' >>src/core/lease.c
echo 'struct y;' >>src/core/lease.h
prints "a header and the file that includes it: the file once" "src/core/lease.c"

cases=$((cases + 1))
if "$script" no-such-commit >/dev/null 2>&1; then
    echo "a commit that does not exist: status 0"
    failed=1
fi
[ "$failed" -eq 0 ] || exit 1
echo "changed-files: $cases cases"
