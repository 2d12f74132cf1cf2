/* System calls that a sandbox does not simply allow, by machine: the table that the filter is made
 * from, and by which the broker knows what it is asked for. */
#ifndef ARCP_SANDBOX_SANDBOX_SYSCALL_H
#define ARCP_SANDBOX_SANDBOX_SYSCALL_H

#include <stdint.h>

/* One of sandbox_syscall.def, whatever its number on a machine: ARCP__SANDBOX_SYSCALL_OPENAT. */
typedef enum arcp__sandbox_syscall {
#define ARCP_SANDBOX_SYSCALL(id, name, x86_64, aarch64, rule, trap, monitor)                       \
    ARCP__SANDBOX_SYSCALL_##id,
#include "sandbox/sandbox_syscall.def"
#undef ARCP_SANDBOX_SYSCALL
    ARCP__SANDBOX_SYSCALL_COUNT /* a call that is not in the table */
} arcp__sandbox_syscall;

/* When a call is answered by the broker. */
typedef enum arcp__sandbox_trap {
    ARCP__SANDBOX_TRAP_NONE,
    ARCP__SANDBOX_TRAP_FILES,   /* whenever there is a broker */
    ARCP__SANDBOX_TRAP_NAMES,   /* when patterns can be granted by the broker only */
    ARCP__SANDBOX_TRAP_OWNER,   /* at level landlock, which cannot deny them by path */
    ARCP__SANDBOX_TRAP_CONNECT, /* when the broker connects for the program */
    ARCP__SANDBOX_TRAP_LISTEN,  /* when there are TCP sockets in the network of the host */
    ARCP__SANDBOX_TRAP_LEARN,   /* only, as all others, when it is written down what a command does
                                 */
} arcp__sandbox_trap;

typedef enum arcp__sandbox_machine {
    ARCP__SANDBOX_MACHINE_X86_64,
    ARCP__SANDBOX_MACHINE_AARCH64,
    ARCP__SANDBOX_MACHINE_COUNT
} arcp__sandbox_machine;

/* The machine that this code was compiled for; COUNT: another one, which cannot be confined. */
#if defined(__x86_64__) && defined(__LP64__)
#define ARCP__SANDBOX_MACHINE_HERE ARCP__SANDBOX_MACHINE_X86_64
#elif defined(__aarch64__) && defined(__LP64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCP__SANDBOX_MACHINE_HERE ARCP__SANDBOX_MACHINE_AARCH64
#else
#define ARCP__SANDBOX_MACHINE_HERE ARCP__SANDBOX_MACHINE_COUNT
#endif

/* The newest number that the table knows; the filter answers ENOSYS to numbers above it. The same
 * on both machines: new calls have had one number everywhere since 424. */
#define ARCP__SANDBOX_SYSCALL_NEWEST 469

/* A call by its number; COUNT when it is not in the table. */
arcp__sandbox_syscall arcp__sandbox_syscall_find(arcp__sandbox_machine machine, int number);

#endif
