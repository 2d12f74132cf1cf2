#!/bin/sh
# Fails when files of one folder call each other in a larger circle than they may.
#
#   tests/tree/circles.sh MODULES_DIR
#
# MODULES_DIR holds libarcp_base.a and so on, one for each folder of src/. An arrow goes from a file to
# the file of the same folder that defines a symbol (a function or an object) that the first one uses; a
# circle is a set of files in each of which every other can be reached along arrows.
#
# A circle has at most five files.
set -eu
cd "$1"

count=0
for library in libarcp_*.a; do
    [ -f "$library" ] && count=$((count + 1))
done
[ "$count" -gt 0 ] || {
    echo "no module in $1"
    exit 1
}

# "libarcp_json.a[json_scan.c.o]: arcp_json_scan T 0 0", or U of what it uses.
nm -A --extern-only --format=posix libarcp_*.a | awk '
$2 ~ /^arcp_/ {
    folder = file = $1
    sub(/^libarcp_/, "", folder)
    sub(/\.a\[.*/, "", folder)
    sub(/^.*\[/, "", file)
    sub(/\.o\]:$/, "", file)
    if (!((folder, file) in known)) {
        known[folder, file] = 1
        files[folder, ++size[folder]] = file
    }
    if ($3 == "U")
        uses[folder, file] = uses[folder, file] " " $2
    else
        home[folder, $2] = file
}

# Fills reaches[file, file]: along one arrow, and then (Warshall) along any number.
function follow(folder, i, j, k, n, symbols, other) {
    split("", reaches)
    for (i = 1; i <= size[folder]; i++) {
        n = split(uses[folder, files[folder, i]], symbols, " ")
        for (k = 1; k <= n; k++)
            if ((folder, symbols[k]) in home)
                reaches[files[folder, i], home[folder, symbols[k]]] = 1
    }
    for (k = 1; k <= size[folder]; k++) {
        other = files[folder, k]
        for (i = 1; i <= size[folder]; i++)
            if ((files[folder, i], other) in reaches)
                for (j = 1; j <= size[folder]; j++)
                    if ((other, files[folder, j]) in reaches)
                        reaches[files[folder, i], files[folder, j]] = 1
    }
}

# The sizes of the circles in a folder of more than five files, largest first; names them in members.
function circles(folder, i, j, n, a, b, list, of_size, most, done, sizes) {
    members = ""
    split("", done)
    split("", of_size)
    most = 0
    for (i = 1; i <= size[folder]; i++) {
        a = files[folder, i]
        if (a in done)
            continue
        list = a
        n = 1
        for (j = i + 1; j <= size[folder]; j++) {
            b = files[folder, j]
            if ((a, b) in reaches && (b, a) in reaches) {
                done[b] = 1
                list = list " " b
                n++
            }
        }
        if (n > 5) {
            of_size[n]++
            members = members "\n  " n ": " list
        }
        if (n > most)
            most = n
    }
    for (n = most; n > 5; n--)
        for (i = 1; i <= of_size[n]; i++)
            sizes = sizes (sizes == "" ? "" : " ") n
    return sizes
}

END {
    for (folder in size) {
        follow(folder)
        found = circles(folder)
        if (found == "")
            continue
        printf "%s: circles of more than five files: %s%s\n", folder, found, members
        bad = 1
    }
    exit bad
}
'
echo "circles: $count modules"
