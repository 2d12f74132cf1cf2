#!/bin/sh
# Fails when a source includes upward, sideways, what its layer must do without, or a header that
# another folder keeps to itself.
#
#   tests/tree/layers.sh ROOT
#
# The rules are the picture and the table of folders in docs/architecture.md. Tests, fuzzers and benchmarks that include
# a header that another folder keeps to itself are in tests/tree/private_headers.txt, with the reason.
set -eu
cd "$1"

files=$(find src include -name '*.[ch]' -o -name '*.def' | sort)
tests=$(find tests fuzz bench -name '*.[ch]' 2>/dev/null | sort)
[ -n "$files" ] || {
    echo "no sources under $1"
    exit 1
}

# shellcheck disable=SC2086 # one word per file; names have no spaces (tests/tree/marks.sh)
awk '
BEGIN {
    # libarcp and the engine: no I/O, no threads; libarcp nothing but libc; of the engine only its
    # context hashes; mcp and the door hash, too.
    # (base has "once", for its one process-wide key, and thread.h, which is inline.)
    threads = "^(uv|pthread|threads|sqlite3|yaml|http_parser|netdb|poll|spawn)\\.h$" \
              "|^(wslay|curl|arpa|netinet)/|^sys/(socket|epoll|poll|select|un|wait)\\.h$"
    others = "^(openssl|zlib)/"
    quiet = " base json core sandbox llm mcp context log credential job calendar schedule hook session engine door "
    # One folder knows the parser of HTTP.
    parser = "^(http_parser|llhttp)\\.h$"
    for (i = 1; i < ARGC; i++)
        sources[ARGV[i]] = 1
}

function layer_of(path, part) {
    if (path ~ /^include\/arcp\//) {
        sub(/^include\/arcp\//, "", path)
        return public_layer(path)
    }
    split(path, part, "/")
    return part[2]
}

function public_layer(name) {
    return name in public ? public[name] : "core"
}

# A row of the table: | `folder` | what it is | folders that it includes from | headers for others |
function read_row(cell, n, i, names) {
    gsub(/`/, "")
    split($0, cell, / *\| */)
    allowed[cell[2]] = " " cell[2] " "
    n = split(cell[4], names, " ")
    for (i = 1; i <= n; i++)
        if (names[i] != "-") {
            if (!(names[i] in allowed))
                refuse(names[i] " is not above " cell[2] " in the table")
            allowed[cell[2]] = allowed[cell[2]] names[i] " "
            arrow[cell[2] " includes nothing from " names[i]] = 1
        }
    shared_headers[cell[2]] = " " cell[5] " "
    n = split(cell[5], names, " ")
    for (i = 1; i <= n; i++)
        if (names[i] ~ /^<arcp\//)
            public[substr(names[i], 7, length(names[i]) - 7)] = cell[2]
}

# Of a header of src/: which folder keeps it, and what that has for others.
function check_header(name, from, folder) {
    folder = name
    sub(/\/.*/, "", folder)
    if (!(folder in shared_headers) || folder == from || index(shared_headers[folder], " " substr(name, length(folder) + 2) " "))
        return
    if ((FILENAME " " name) in reason) {
        delete unneeded[FILENAME " " name]
        return
    }
    refuse(from " may not include " name ": " folder " has" shared_headers[folder] "for others")
}

function refuse(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}

FILENAME == "docs/architecture.md" {
    if (/^## /)
        is_table = $0 == "## Folders"
    if (/^```$/ && blocks < 2)
        blocks++
    else if (blocks == 1)
        for (i = 1; i <= NF; i++) {
            drawn[$i]++
            line[$i] = FNR
        }
    if (is_table && /^\| `/)
        read_row()
    next
}

# FILE HEADER REASON
FILENAME == "tests/tree/private_headers.txt" {
    if (/^#/ || NF == 0)
        next
    if (NF < 4)
        refuse("needs a file, a header and a reason")
    reason[$1 " " $2] = unneeded[$1 " " $2] = 1
    next
}

FNR == 1 {
    layer = layer_of(FILENAME)
    is_test = FILENAME !~ /^(src|include)\//
    if (!is_test && !(layer in allowed)) {
        refuse("folder " layer " is not in the table of docs/architecture.md")
        nextfile
    }
    count += !is_test
}

/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    name = $0
    sub(/^[^"<]*["<]/, "", name)
    sub(/[">].*$/, "", name)
    if (is_test) {
        if (("src/" name) in sources)
            check_header(name, layer)
        next
    }
    if ($0 ~ /include[ \t]*"/) {
        if (name !~ /\//) {
            refuse("write \"" layer "/" name "\": includes start at src/")
            next
        }
        target = name
        sub(/\/.*/, "", target)
        check_header(name, layer)
        if (FILENAME ~ /^include\//) {
            refuse("a public header includes the private " name)
            next
        }
    } else if (name ~ /^arcp\//) {
        target = public_layer(substr(name, 6))
    } else {
        if (layer == "base" && name == "pthread.h")
            next
        if (layer != "web" && name ~ parser)
            refuse(layer " does without <" name ">: HTTP is read and written in src/web")
        if (index(quiet, " " layer " ") && (name ~ threads || (name ~ others && layer !~ /^(context|door|mcp)$/)))
            refuse(layer " does without <" name ">")
        next
    }
    delete arrow[layer " includes nothing from " target]
    if (index(allowed[layer], " " target " ") == 0)
        refuse(layer " may not include " name " (" target " is not below it)")
}

# A folder stands once in the picture, and on no line above one that includes from it.
function check_picture(folder, i, names) {
    for (folder in allowed) {
        if (drawn[folder] != 1) {
            print "docs/architecture.md: folder " folder " is in the picture " drawn[folder] + 0 " times"
            bad = 1
        }
        split(allowed[folder], names, " ")
        for (i in names)
            if (line[names[i]] < line[folder]) {
                print "docs/architecture.md: " names[i] " is drawn above " folder ", which includes from it"
                bad = 1
            }
    }
}

END {
    check_picture()
    for (text in arrow) {
        print "docs/architecture.md: " text
        bad = 1
    }
    for (text in unneeded) {
        print "tests/tree/private_headers.txt: needless: " text
        bad = 1
    }
    if (count == 0) {
        print "no file was read"
        bad = 1
    }
    exit bad
}
' docs/architecture.md tests/tree/private_headers.txt $files $tests
echo "layers: $(printf '%s\n' "$files" | wc -l) files in order"
