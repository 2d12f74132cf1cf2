#!/bin/sh
# Fails when a source includes upward, sideways, what its layer must do without, or a header that
# another folder keeps to itself.
#
#   tests/tree/layers.sh ROOT
#
# base <- json <- core <- context <- engine <- {transport, store, provisioner} <- {client, runtime} <- arcpd
# base <- launch <- process <- runtime: programs are started and run by what knows nothing of ARCP.
# base <- web <- transport: the wire format of HTTP/1.1.
# core <- identity <- runtime: whose a token is.
# file stands on base: files that hold secrets, for identity, runtime, arcp and arcpd.
# client <- cli <- {arcp, bench, conformance}
# audit and config stand on core, beside the engine; arcp and arcpd use them. http stands on core, for the
# modules of provisioner and tracing, which arcpd loads.
set -eu
cd "$1"

files=$(find src include -name '*.[ch]' | sort)
tests=$(find tests -name '*.[ch]' 2>/dev/null | sort)
[ -n "$files" ] || {
    echo "no sources under $1"
    exit 1
}

# shellcheck disable=SC2086 # one word per file; names have no spaces (tests/tree/marks.sh)
awk '
BEGIN {
    allowed["base"] = "base"
    allowed["launch"] = "base launch"
    allowed["process"] = "base launch process"
    allowed["file"] = "base file"
    allowed["web"] = "base web"
    allowed["json"] = "base json"
    allowed["core"] = "base json core"
    allowed["context"] = "base json core context"
    allowed["engine"] = "base json core context engine"
    allowed["transport"] = "base web json core engine transport"
    allowed["store"] = "base json core engine store"
    allowed["http"] = "base json core http"
    allowed["provisioner"] = "base json core engine http provisioner"
    allowed["tracing"] = "base json core http tracing"
    allowed["identity"] = "base file json core identity"
    allowed["runtime"] = "base file launch process json core identity engine transport store runtime"
    allowed["client"] = "base json core engine transport client"
    allowed["audit"] = "base json core audit"
    allowed["config"] = "base json core config"
    allowed["arcpd"] = "base file launch process web json core identity engine transport store provisioner " \
                       "runtime audit config tracing arcpd"
    allowed["cli"] = "base json core transport client config cli"
    allowed["arcp"] = "base file json core store client audit cli arcp"
    allowed["bench"] = "base json core client cli bench"
    allowed["conformance"] = "base json core client cli conformance"
    # Public headers of other layers than core; what stands in sys/ is contracts, without code.
    public["visibility.h"] = public["span.h"] = public["buf.h"] = "base"
    public["error.h"] = public["status.def"] = public["secret.h"] = public["time.h"] = "base"
    public["json.h"] = "json"
    public["runtime.h"] = public["agent.h"] = "runtime"
    public["client.h"] = "client"
    public["sys/launcher.h"] = "launch"
    public["token.h"] = public["sys/token.h"] = "identity"
    # The headers that other folders may include; of a folder that is not here, all. A test of
    # the same name as the folder may include the others too.
    doors["launch"] = "launch.h cgroups.h proc_stat.h"
    doors["process"] = "process.h"
    doors["web"] = "head.h response.h"
    doors["identity"] = "identity.h"
    doors["context"] = "context.h"
    # libarcp and the engine: no I/O, no threads; libarcp nothing but libc; of the engine only its
    # context hashes.
    # (base has "once", for its one process-wide key, and thread.h, which is inline.)
    threads = "^(uv|pthread|threads|sqlite3|yaml|http_parser|netdb|poll|spawn)\\.h$" \
              "|^(wslay|curl|arpa|netinet)/|^sys/(socket|epoll|poll|select|un|wait)\\.h$"
    others = "^(openssl|zlib)/"
    quiet = " base json core context engine "
    # One folder knows the parser of HTTP.
    parser = "^(http_parser|llhttp)\\.h$"
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

# Of a private header: which folder keeps it, and what that has for others.
function check_door(name, from, folder) {
    folder = name
    sub(/\/.*/, "", folder)
    sub(/^[^\/]*\//, "", name)
    if (folder in doors && folder != from && index(" " doors[folder] " ", " " name " ") == 0)
        refuse(from " may not include " folder "/" name ": " folder " has " doors[folder] " for others")
}

function refuse(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}

FNR == 1 {
    layer = layer_of(FILENAME)
    is_test = FILENAME ~ /^tests\//
    if (!is_test && !(layer in allowed)) {
        refuse("folder " layer " has no place in the order of layers")
        nextfile
    }
    count += !is_test
}

/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    name = $0
    sub(/^[^"<]*["<]/, "", name)
    sub(/[">].*$/, "", name)
    if (is_test) {
        check_door(name, layer)
        next
    }
    if ($0 ~ /include[ \t]*"/) {
        if (name !~ /\//) {
            refuse("write \"" layer "/" name "\": includes start at src/")
            next
        }
        target = name
        sub(/\/.*/, "", target)
        check_door(name, layer)
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
        else if (layer == "web" && name !~ parser && (name ~ threads || name ~ others))
            refuse("web does no I/O: it does without <" name ">")
        if (index(quiet, " " layer " ") && (name ~ threads || (name ~ others && layer != "context")))
            refuse(layer " does without <" name ">")
        next
    }
    if (index(" " allowed[layer] " ", " " target " ") == 0)
        refuse(layer " may not include " name " (" target " is not below it)")
}

END {
    if (count == 0) {
        print "no file was read"
        bad = 1
    }
    exit bad
}
' $files $tests
echo "layers: $(printf '%s\n' "$files" | wc -l) files in order"
