#!/bin/sh
# Shows each check of this folder a small tree that is right, which it must pass, and then
# one wrong thing at a time, which it must refuse and name.
#
#   tests/tree/refuses.sh C_COMPILER CMAKE
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cc=$1
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
cases=0

# The right tree, made once, in $work/right.
make_right_tree() {
    tree=$work/right
    mkdir -p "$tree/src/base" "$tree/src/core" "$tree/src/context" "$tree/src/engine" "$tree/src/store" "$tree/src/client" \
        "$tree/src/cli" "$tree/src/bench" \
        "$tree/src/launch" "$tree/src/process" "$tree/tests/launch" "$tree/tests/engine" "$tree/fuzz" \
        "$tree/include/arcp/sys" "$tree/docs" "$tree/packaging" "$tree/man" \
        "$tree/tests/tree"
    # The picture and the table of folders as they are, and an include for each arrow of the table.
    awk '/^```$/ { is_picture = !is_picture && !pictures++; print; next }
        /^## / { is_table = /Folders/ }
        is_picture || (is_table && /^## |^\|/)' "$here/../../docs/architecture.md" >"$tree/docs/architecture.md"
    awk -F' *\\| *' -v src="$tree/src/" '/`/ {
        gsub(/`/, "")
        sub(/ .*/, "", $5)
        header[$2] = $5 ~ /^</ ? $5 : "\"" $2 "/" $5 "\""
        below[$2] = $4
    }
    END {
        for (folder in below) {
            system("mkdir -p " src folder)
            count = split(below[folder], name, " ")
            for (i = 1; i <= count; i++)
                if (name[i] != "-")
                    print "#include " header[name[i]] >(src folder "/arrows.c")
        }
    }' "$tree/docs/architecture.md"
    echo '/* Kept. */' | tee "$tree/src/launch/launcher_plan.h" "$tree/src/process/orphan.h" >"$tree/src/engine/state.h"
    printf '# Why.\ntests/engine/job_test.c process/orphan.h looks at orphans\n' >"$tree/tests/tree/private_headers.txt"
    echo '#include "process/orphan.h"' >"$tree/tests/engine/job_test.c"
    echo '#include <arcp/sys/launcher.h>' >"$tree/src/launch/launch.h"
    printf '#include "launch/launch.h"\n#include <arcp/sys/launcher.h>\n' >"$tree/src/process/table.c"
    echo '#include "launch/launcher_plan.h"' >"$tree/tests/launch/plan_test.c"
    echo '#include <stddef.h>' >"$tree/src/base/alloc.h"
    printf '#include "base/alloc.h"\n#include <arcp/lease.h>\n' >"$tree/src/core/lease.c"
    printf '#include "core/authority.h"\n#include <arcp/sys/store.h>\n' >"$tree/src/engine/job.c"
    echo '#include <arcp/span.h>' >"$tree/include/arcp/lease.h"
    printf 'ARCP_SETTING_NUMBER(limits, depth, 64, 1, 9, "x")\nARCP_SETTING_CHOICE(lease, on, "deny", "deny|no", "x")\n' \
        >"$tree/include/arcp/settings.def"
    printf 'limits:\n  depth: 64  # x\nlease:\n  on: deny\n' >"$tree/packaging/arcpd.yaml"
    printf '*depth*: 64\n\n*lease.on*: deny\n' >"$tree/man/arcpd.yaml.5.scd"
    echo 'project(arcp VERSION 4.5.6 LANGUAGES C' >"$tree/CMakeLists.txt"
    mkdir -p "$tree/bindings/python" "$tree/cmake"
    echo 'version = "4.5.6"' >"$tree/bindings/python/pyproject.toml"
    mkdir -p "$tree/packaging/debian" && echo "arcp (4.5.6) bookworm; urgency=medium" >"$tree/packaging/debian/changelog"
    printf '# Title here\n\nSee [the docs](docs/page.md#second-part) and [above](#title-here).\n' >"$tree/README.md"
    # shellcheck disable=SC2016 # Markdown
    printf '%s\n' '| promise | test |' '|---|---|' '| orphans | `engine_job_test`, `job_*`, `tests/launch/plan_test.c`, "a row" |' \
        >"$tree/tests/engine/README.md"
    printf '{"a row", 1},\n' >>"$tree/tests/launch/plan_test.c"
    # shellcheck disable=SC2016 # Markdown
    printf '# Page\n\n## Second part\n\n`[no](link)` [web](https://example.org/)\n' >"$tree/docs/page.md"
}
make_right_tree

# A fresh right tree in $tree.
right_tree() {
    tree=$work/tree
    rm -rf "$tree"
    cp -a "$work/right" "$tree"
}

# passes CHECK: the right tree.
passes() {
    cases=$((cases + 1))
    if ! output=$("$here/$1.sh" "$2" 2>&1); then
        echo "FAIL $1 refuses a right tree: $output"
        failed=1
    fi
}

# refuses CHECK WHERE WORDS WHAT: the tree as it is now, with WORDS in the complaint.
refuses() {
    cases=$((cases + 1))
    if output=$("$here/$1.sh" "$2" 2>&1); then
        echo "FAIL $1 passes $4"
        failed=1
    elif ! printf '%s' "$output" | grep -qF -- "$3"; then
        echo "FAIL $1 refuses $4 without saying '$3': $output"
        failed=1
    fi
}

right_tree
passes layers "$tree"
passes marks "$tree"
passes links "$tree"
passes promises "$tree"
passes settings "$tree"
passes version "$tree"

# answer NAME WORDS: a page that names one function, in a tree that has two.
answer() {
    right_tree
    printf 'static int early(int a,\n                 int b);\nint arcp__end(int a)\n{\n    return early(a, 1);\n}\n' \
        >"$tree/src/engine/job.c"
    # shellcheck disable=SC2016 # Markdown
    printf 'It ends in `%s`.\n' "$1" >>"$tree/docs/architecture.md"
    if [ "$2" = passes ]; then
        passes answers "$tree"
    else
        refuses answers "$tree" "$2" "$1"
    fi
}
answer engine/job.c:arcp__end passes
answer engine/job.c:end 'job.c does not define end'
answer engine/job.c:early 'job.c does not define early'
answer engine/gone.c:arcp__end 'src/engine/gone.c is not there'
answer nothing 'names no function'
answer "engine/job.c:arcp__end\` by \`gone.c" 'no file is gone.c'
answer "engine/job.c:arcp__end\` by \`core/job.c" 'no file is core/job.c'
answer "engine/job.c:arcp__end\` by \`job.c\` in \`src/engine/job.c" passes

# promise NAME: a table that names what is not there.
promise() {
    right_tree
    printf '| another | %s |\n' "$1" >>"$tree/tests/engine/README.md"
    refuses promises "$tree" 'there is no test' "$1 in a table"
}
# shellcheck disable=SC2016 # Markdown
{
    promise '`gone_test`'
    promise '`job_test`, `gone_*`'
    promise '`tests/engine/gone_test.c`'
    promise '"another row"'
}
right_tree
printf '| promise | test |\n' >"$tree/tests/engine/README.md"
refuses promises "$tree" 'no table names a test' 'tables without tests'

# layer CODE WHERE WORDS: a file with one include too many.
layer() {
    right_tree
    echo "$1" >>"$tree/$2"
    refuses layers "$tree" "$3" "$1 in $2"
}
layer '#include "core/lease.h"' src/base/alloc.h 'base may not include core/lease.h'
layer '#include <arcp/lease.h>' src/base/alloc.h 'base may not include arcp/lease.h'
layer '#include "engine/state.h"' src/context/timer.c 'context may not include engine/state.h'
layer '#include "store/memory.h"' src/engine/job.c 'engine may not include store/memory.h'
layer '#include "transport/ws.h"' src/store/sqlite.c 'store may not include transport/ws.h'
layer '#include "arcp/follow.h"' src/cli/arguments.c 'cli may not include arcp/follow.h'
layer '#include "arcp/follow.h"' src/bench/load.c 'bench may not include arcp/follow.h'
layer '#include "runtime/host.h"' src/client/submit.c 'client may not include runtime/host.h'
layer '#include "alloc.h"' src/base/other.c 'includes start at src/'
layer '  #  include "core/lease.h"' include/arcp/lease.h 'public header includes the private core/lease.h'
layer '#include <http_parser.h>' src/client/upgrade.c 'client does without <http_parser.h>'
layer '#include "web/head.h"' src/stream/tls.c 'stream may not include web/head.h'
layer '#include "transport/url.h"' src/web/head.c 'web may not include transport/url.h'
layer '#include "web/parser.h"' src/client/upgrade.c 'client may not include web/parser.h'
layer '#include <uv.h>' src/engine/job.c 'engine does without <uv.h>'
layer '#include <openssl/evp.h>' src/engine/job.c 'engine does without <openssl/evp.h>'
layer '#include <pthread.h>' src/core/lease.c 'core does without <pthread.h>'
layer '#include <openssl/sha.h>' src/core/lease.c 'core does without <openssl/sha.h>'
layer '#include "core/lease.h"' src/launch/launch.h 'launch may not include core/lease.h'
layer '#include "process/process.h"' src/launch/plan.c 'launch may not include process/process.h'
layer '#include <arcp/json.h>' src/stream/table.c 'stream may not include arcp/json.h'
layer '#include <arcp/sys/launcher.h>' src/engine/job.c 'engine may not include arcp/sys/launcher.h'
layer '#include "launch/launcher_plan.h"' src/process/table.c 'launch has agent_sandbox.h'
layer '#include "process/orphan.h"' tests/engine/other_test.c 'process has process.h served_line.h for others'
layer '#include "engine/state.h"' src/runtime/arrows.c 'runtime may not include engine/state.h'
layer '#include "engine/state.h"' fuzz/fuzz.c 'may not include engine/state.h'
layer '#include <arcp/token.h>' src/engine/job.c 'engine may not include arcp/token.h'
layer '#include <stddef.h>' src/misc.c 'is not in the table'
layer 'tests/engine/job_test.c engine/state.h' tests/tree/private_headers.txt 'a header and a reason'
layer 'tests/engine/gone_test.c engine/state.h tries it' tests/tree/private_headers.txt \
    'needless: tests/engine/gone_test.c engine/state.h'
right_tree
sed -i '/runtime_gateway.h/d; /agent.h/d' "$tree/src/arcpd/arrows.c"
refuses layers "$tree" 'arcpd includes nothing from runtime' 'an arrow that is not needed'
right_tree
grep -v '^| .store. ' "$tree/docs/architecture.md" >"$work/changed"
mv "$work/changed" "$tree/docs/architecture.md"
refuses layers "$tree" 'folder store is not in the table' 'a folder that the table does not have'
right_tree
sed 's/^\(| .json. |[^|]*|\)/\1 core/' "$tree/docs/architecture.md" >"$work/changed"
mv "$work/changed" "$tree/docs/architecture.md"
refuses layers "$tree" 'core is not above json' 'an arrow that points down the table'
right_tree
sed 's/ launch / stable /' "$tree/docs/architecture.md" >"$work/changed"
mv "$work/changed" "$tree/docs/architecture.md"
refuses layers "$tree" 'folder launch is in the picture 0 times' 'a folder that is not drawn'
right_tree
sed 's/^  arcpd .*/&   web/' "$tree/docs/architecture.md" >"$work/changed"
mv "$work/changed" "$tree/docs/architecture.md"
refuses layers "$tree" 'folder web is in the picture 2 times' 'a folder that is drawn twice'
right_tree
sed -e 's/ process / /' -e 's/^  arcpd /  process arcpd /' "$tree/docs/architecture.md" >"$work/changed"
mv "$work/changed" "$tree/docs/architecture.md"
refuses layers "$tree" 'process is drawn above hosting' 'a folder that is drawn above one that includes from it'
right_tree
rm -r "$tree/src" "$tree/include"
mkdir "$tree/src" "$tree/include"
refuses layers "$tree" 'no sources' 'an empty tree'

# mark TEXT WHERE WORDS: a file with one line too many.
mark() {
    right_tree
    printf '%s\n' "$1" >>"$tree/$2"
    refuses marks "$tree" "$3" "'$1' in $2"
}
mark "/* TO""DO: later */" src/core/lease.c 'core/lease.c:3'
mark "# FIX""ME" docs/run.sh 'docs/run.sh:1'
mark '    void *p = malloc(4);' src/core/lease.c 'allocates past base/alloc.h'
mark '    free(p);' src/core/lease.c 'allocates past base/alloc.h'
mark 'int x; ' src/core/lease.c 'white space at the end'
mark 'See ../sha''red/file.' docs/page.md 'a place outside the tree'
mark 'x' 'docs/odd name.txt' 'docs/odd name.txt'
right_tree
awk 'BEGIN { for (i = 1; i <= 600; i++) print "int a" i ";" }' >"$tree/src/core/long.c"
passes marks "$tree"
echo 'int b;' >>"$tree/src/core/long.c"
refuses marks "$tree" 'src/core/long.c' 'a file of 601 lines'

# link TEXT WORDS: a page with one link too many.
link() {
    right_tree
    printf '%s\n' "$1" >>"$tree/README.md"
    refuses links "$tree" "$2" "$1"
}
link '[gone](docs/gone.md)' 'docs/gone.md is not there'
link 'two: [a](docs/page.md) [b](docs/b.md)' 'docs/b.md is not there'
link '[part](docs/page.md#third-part)' 'no heading third-part'
link '[own](#nothing)' 'no heading nothing'

# setting FILE FROM TO WORDS: a default that differs.
setting() {
    right_tree
    sed "s/$2/$3/" "$tree/$1" >"$work/changed"
    mv "$work/changed" "$tree/$1"
    refuses settings "$tree" "$4" "$3 for $2 in $1"
}
setting packaging/arcpd.yaml 'depth: 64' 'depth: 65' 'packaging/arcpd.yaml: limits: depth: 64'
setting packaging/arcpd.yaml 'on: deny' 'off: deny' 'packaging/arcpd.yaml: lease: on: deny'
setting packaging/arcpd.yaml 'limits:' 'limit:' 'packaging/arcpd.yaml: limits: depth: 64'
setting man/arcpd.yaml.5.scd '64' '6' 'man/arcpd.yaml.5.scd: *limits.depth*: 64'
setting include/arcp/settings.def 'depth, 64' 'Depth, 64' 'could not be read'

# version LINE FILE WORDS: a version that is written once too often, or is another one.
version() {
    right_tree
    echo "$1" >"$tree/$2"
    refuses version "$tree" "$3" "$1 in $2"
}
version 'version = "4.5.7"' bindings/python/pyproject.toml 'pyproject.toml: version 4.5.7, CMakeLists.txt has 4.5.6'
version 'arcp (4.5.7) bookworm; urgency=medium' packaging/debian/changelog 'packaging/debian/changelog: version 4.5.7, CMakeLists.txt has 4.5.6'
version 'static const char text[] = "arcpd 4.5.6";' src/core/lease.c 'src/core/lease.c:1'
version 'set(VERSION 4.5.6)' cmake/more.cmake 'cmake/more.cmake:1'
version 'project(arcp LANGUAGES C)' CMakeLists.txt 'has no version'

# module NAME CODE: a module of one object.
module() {
    rm -rf "$work/modules"
    mkdir "$work/modules"
    echo "$2" >"$work/one.c"
    "$cc" -c "$work/one.c" -o "$work/one.o"
    ar rc "$work/modules/libarcp_$1.a" "$work/one.o"
}
module engine 'int arcp_x(void); int arcp__x(void); int arcp_x(void) { return arcp__x(); }'
passes symbols "$work/modules"
module base 'int helper(void) { return 0; }'
refuses symbols "$work/modules" 'helper' 'a global that is not named arcp_'
module base 'int arcp_[2];'
refuses symbols "$work/modules" 'arcp_' 'a global named arcp_ only'
module engine 'long time(long *); long arcp_now(void); long arcp_now(void) { return time(0); }'
refuses symbols "$work/modules" 'engine calls: time' 'a clock in the engine'
module core 'void *malloc(unsigned long); void *arcp_a(void) { return malloc(1); }'
refuses symbols "$work/modules" 'core calls: malloc' 'malloc in core'
module process 'void arcp__engine_f(void); void arcp__p(void); void arcp__p(void) { arcp__engine_f(); }'
refuses symbols "$work/modules" 'process calls: arcp__engine_f' 'a call from process to the engine'
rm "$work/modules"/*
refuses symbols "$work/modules" 'no module' 'an empty folder'

# circle NAME FILES: a module of FILES files, of which each calls the next and the last the first, and
# one more that calls the first and is called by none.
circle() {
    rm -rf "$work/modules" "$work/circle"
    mkdir "$work/modules" "$work/circle"
    echo 'void arcp__f1(void); void arcp__more(void); void arcp__more(void) { arcp__f1(); }' >"$work/circle/more.c"
    i=1
    while [ "$i" -le "$2" ]; do
        next=$((i % $2 + 1))
        echo "void arcp__f$next(void); void arcp__f$i(void); void arcp__f$i(void) { arcp__f$next(); }" \
            >"$work/circle/f$i.c"
        i=$((i + 1))
    done
    (cd "$work/circle" && "$cc" -c ./*.c && ar rc "$work/modules/libarcp_$1.a" ./*.o)
}
circle store 5
passes circles "$work/modules"
circle store 6
refuses circles "$work/modules" 'store: circles of more than five files: 6' 'a circle of six files'
circle engine 60
refuses circles "$work/modules" 'engine: circles of more than five files: 60' 'a circle of sixty files'
rm "$work/modules"/*
refuses circles "$work/modules" 'no module' 'an empty folder of circles'

# configures MISSING: a project with one target of each kind that cmake/ArcpModule.cmake makes. The
# kind MISSING lists a source that does not exist.
configures() {
    mkdir -p "$work/project/fuzz"
    echo 'int main(void) { return 0; }' | tee "$work/project/here.c" >"$work/project/fuzz/replay.c"
    {
        echo 'cmake_minimum_required(VERSION 3.25)'
        echo 'project(kinds LANGUAGES C)'
        echo 'enable_testing()'
        echo 'include(GNUInstallDirs)'
        echo 'add_library(arcp_flags INTERFACE)'
        echo 'add_library(PkgConfig::CMOCKA INTERFACE IMPORTED)'
        echo "include($here/../../cmake/ArcpModule.cmake)"
        for kind in module program test fuzz bench; do
            source=here.c
            [ "$kind" != "$1" ] || source='here.c gone.c'
            echo "arcp_$kind(one_$kind SOURCES $source)"
        done
    } >"$work/project/CMakeLists.txt"
    "$cmake" -S "$work/project" -B "$work/configured" -D CMAKE_C_COMPILER="$cc" 2>&1
}
cases=$((cases + 1))
output=$(configures none) || {
    echo "FAIL a project without a missing source is not configured: $output"
    failed=1
}
for missing in module program test fuzz bench; do
    cases=$((cases + 1))
    if output=$(configures "$missing"); then
        echo "FAIL arcp_$missing leaves out a source that is missing: $output"
        failed=1
    elif ! printf '%s' "$output" | grep -qF 'gone.c'; then
        echo "FAIL arcp_$missing does not name the source that is missing: $output"
        failed=1
    fi
done

# A small tree in which a session and a client keep one requirement, a test and a story prove it, and
# two more have a reason. (The citations are put together so that they are none of this file's.)
cite='[ar''cp:'
make_joined_tree() {
    tree=$work/joined_right
    mkdir -p "$tree/src/engine" "$tree/src/client" "$tree/include" "$tree/tests/engine" "$tree/tests/scripts" \
        "$tree/tests/conformance"
    printf '= 6\tSessions\n6-1\t6\tMUST\tboth\tping\t-\n6.1-1\t6.1\tMAY\truntime\tdance\tnot taken\n6-2\t6\tMUST\tagent\tbehave\tnot ours\n' \
        >"$tree/tests/conformance/requirements.tsv"
    printf '/* The session. */\n/* %s6-1] */\nvoid f(void)\n{\n}\n' "$cite" >"$tree/src/engine/a.c"
    printf '/* The client. %s6-1] */\n' "$cite" >"$tree/src/client/b.h"
    printf '/* Tests. */\nstatic void t(void **state)\n{\n    /* %s6-1] */\n}\nint main(void)\n{\n    run(t);\n}\n' \
        "$cite" >"$tree/tests/engine/a_test.c"
    printf '# %s6-1]\n' "$cite" >"$tree/tests/scripts/01-a.story"
    "$here/../../tools/conformance" "$tree" >/dev/null
}
make_joined_tree
joined_tree() {
    tree=$work/joined
    rm -rf "$tree"
    cp -a "$work/joined_right" "$tree"
}
joined_tree
passes conformance "$tree"
grep -qF '| 6-1 | MUST | both | ping | [client/b.h](src/client/b.h)<br>[engine/a.c: f](src/engine/a.c) | [t](tests/engine/a_test.c)<br>[01-a](tests/scripts/01-a.story) |' \
    "$tree/CONFORMANCE.md" || {
    echo "FAIL conformance joins something else"
    failed=1
}
# joined FILE FROM TO WORDS: one thing that differs.
joined() {
    joined_tree
    sed -i "s/$2/$3/" "$tree/$1"
    refuses conformance "$tree" "$4" "$3 for $2 in $1"
}
table=tests/conformance/requirements.tsv
joined CONFORMANCE.md ping pong 'CONFORMANCE.md is not current'
joined src/engine/a.c '6-1' '6-9' '6-9] is no requirement'
joined tests/engine/a_test.c '6-1' '' '] is no requirement'
joined tests/engine/a_test.c 'run(t)' 'run(u)' 'is at no test that is run'
joined src/engine/a.c 'arcp:' '' '6-1 binds both: no code of the runtime cites it'
joined src/client/b.h 'arcp:' '' '6-1 binds both: no code of the client cites it'
joined "$table" 'not taken' '-' '6.1-1 (MAY): must be cited by code and test, or have a note'
joined "$table" 'not ours' '-' '6-2 (MUST): must be cited'
joined "$table" 'MAY' 'MUST' '6.1-1 (MUST): no code cites it'
joined "$table" 'MAY' 'CAN' 'no such level or peer: CAN, runtime'
joined "$table" 'agent' 'runtime' '6-2 (MUST): no test cites it'
joined "$table" '^6-2' '6-1' '6-1 is there twice'
joined "$table" '^6-2' '7-2' 'the id 7-2 must be 6-NUMBER'
joined "$table" 'ping' '' 'must be six cells'
joined "$table" '^.*$' '' 'has no rows'

# page NAME TEXT WORDS: a page more, or one that has another line, in a copy of the pages, which the site refuses.
tree=$work/site
mkdir "$tree"
tar -C "$here/../.." -cf - --exclude='./build*' --exclude=./.git . | tar -C "$tree" -xf -
page() {
    [ ! -e "$tree/$1" ] || cp "$tree/$1" "$work/page"
    printf '%s\n' "$2" >>"$tree/$1"
    cases=$((cases + 1))
    if output=$("$here/../../tools/site/build" --check "$tree" 2>&1); then
        echo "FAIL the site takes '$2' in $1"
        failed=1
    elif ! printf '%s' "$output" | grep -qF -- "$3"; then
        echo "FAIL the site refuses '$2' without saying '$3': $output"
        failed=1
    fi
    if [ -e "$work/page" ]; then mv "$work/page" "$tree/$1"; else rm "$tree/$1"; fi
}
page docs/new.md '# New' 'not in the navigation of tools/site/build: docs/new.md'
page docs/leases.md '[gone](gone.md)' 'docs/leases.md: gone.md is not there'

[ "$failed" -eq 0 ] || exit 1
echo "refuses: $cases cases"
