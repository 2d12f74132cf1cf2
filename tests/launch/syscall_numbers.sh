#!/bin/sh
# Fails when a number in sandbox_syscall.def is not that of the kernel's headers. Calls that are newer
# than the headers are not checked.
#
#   tests/launch/syscall_numbers.sh CC DEF
set -eu
compiler=$1
table=$2

# The names and numbers that a header defines, one pair a line. Some are names of others.
numbers_of() {
    "$compiler" -E -dM -x c - | awk '
    $2 ~ /^__NR(3264)?_/ { value[$2] = $3 }
    END {
        for (name in value) {
            number = value[name]
            while (number in value)
                number = value[number]
            if (number ~ /^[0-9]+$/ && name ~ /^__NR_/)
                print substr(name, 6), number
        }
    }'
}

check() {
    awk -v column="$1" -v machine="$2" '
    NR == FNR { number[$1] = $2; next }
    /^ARCP_SANDBOX_SYSCALL\(/ {
        gsub(/^ARCP_SANDBOX_SYSCALL\(|[",]/, "")
        if ($2 in number) {
            checked++
            if ($column != number[$2]) {
                print machine ": " $2 " is " number[$2] ", not " $column
                bad = 1
            }
        } else if ($column != -1 && $column < 450) {
            print machine ": " $2 " is not in the headers"
            bad = 1
        }
    }
    END {
        if (checked < 60) {
            print machine ": only " checked + 0 " calls were found in the headers"
            bad = 1
        }
        exit bad
    }' - "$table"
}

status=0
if [ "$(uname -m)" = x86_64 ]; then
    echo '#include <asm/unistd_64.h>' | numbers_of | check 3 x86_64 || status=1
fi
# What arch/arm64/include/uapi/asm/unistd.h asks of the numbers that most machines share.
numbers_of <<'EOF' | check 4 aarch64 || status=1
#define __BITS_PER_LONG 64
#define __ARCH_WANT_RENAMEAT
#define __ARCH_WANT_NEW_STAT
#define __ARCH_WANT_SET_GET_RLIMIT
#define __ARCH_WANT_TIME32_SYSCALLS
#define __ARCH_WANT_SYS_CLONE3
#define __ARCH_WANT_MEMFD_SECRET
#include <asm-generic/unistd.h>
EOF
exit $status
