#!/bin/sh
# Fails when a module of a build defines a global symbol that is not named as ours, when
# the layers without I/O call the system (clocks, files, sockets, threads), or when the modules that start
# and run programs call something of the layers beside or above them.
#
#   tests/tree/symbols.sh MODULES_DIR
#
# MODULES_DIR holds libarcp_base.a and so on.
set -eu
cd "$1"

bad=0
count=0
for library in libarcp_*.a; do
    case $library in
    'libarcp_*.a') continue ;;
    esac
    count=$((count + 1))
    # The first pair of names is what sanitizers and gcov add to every object.
    wrong=$(nm --defined-only --extern-only --format=posix "$library" |
        awk 'NF >= 2 && $2 ~ /^[A-TV-Z]$/ && $1 !~ /^(__asan|__odr_asan|__gcov|__llvm)/ &&
            $1 !~ /^arcp_[a-z]/ && $1 !~ /^arcp__[a-z]/ { print $1 }')
    if [ -n "$wrong" ]; then
        echo "$library defines: $wrong"
        bad=1
    fi
done
[ "$count" -gt 0 ] || {
    echo "no module in $1"
    exit 1
}

# Random numbers and the wall clock come in through base; calendar, json, core, mcp, worker, sandbox, context, log, job, schedule, hook, session, engine and door get
# them handed (the engine does no I/O, reads no clock, starts no thread), and so does the wire format of
# HTTP: all of web but three files.
system='^(open|open64|openat|creat|fopen|fopen64|fdopen|read|write|pread|pwrite|close|socket|connect|bind|listen|accept|poll|select|epoll_.*|send|recv|sendto|recvfrom|clock_gettime|time|gettimeofday|sleep|usleep|nanosleep|pthread_.*|thrd_.*|mtx_.*|fork|vfork|exec.*|posix_spawn.*|system|popen|getenv|secure_getenv|getrandom|getentropy|rand|srand|random|signal|sigaction|uv_.*|sqlite3_.*|SSL_.*|malloc|calloc|realloc|free|strdup|strndup)(@|$)'
for module in web calendar json core mcp worker sandbox context log credential job schedule hook session engine door; do
    [ -f "libarcp_$module.a" ] || continue
    calls=$(nm -A --undefined-only --format=posix "libarcp_$module.a" |
        grep -v '^libarcp_web\.a\[\(admission\|connection\|server\)\.c\.o\]' |
        awk '$3 == "U" { print $2 }' | grep -E "$system" | sort -u | tr '\n' ' ') || true
    if [ -n "$calls" ]; then
        echo "$module calls: $calls"
        bad=1
    fi
done

# stands_on MODULE OTHERS...: MODULE calls nothing of ours but what it and the others define.
stands_on() {
    [ -f "libarcp_$1.a" ] || return 0
    calls=$({
        nm --undefined-only --format=posix "libarcp_$1.a"
        for module in "$@"; do
            nm --defined-only --extern-only --format=posix "libarcp_$module.a" 2>/dev/null || true
        done
    } | awk '$2 == "U" { called[$1]; next } NF >= 2 { defined[$1] }
        END { for (name in called) if (name ~ /^arcp_/ && !(name in defined)) print name }' |
        sort | tr '\n' ' ')
    if [ -n "$calls" ]; then
        echo "$1 calls: $calls"
        bad=1
    fi
}
stands_on file base
stands_on stream base
stands_on web stream base
stands_on launch sandbox core json base
stands_on process launch sandbox core json base
stands_on identity file core json base
[ "$bad" -eq 0 ] || exit 1
echo "symbols: $count modules"
