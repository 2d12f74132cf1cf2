/* The filter of system calls: one program of classic BPF, made from sandbox_syscall.def. */
#ifndef ARCP_LAUNCH_HELPER_FILTER_H
#define ARCP_LAUNCH_HELPER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/sandbox_helper/helper_assembly.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_syscall.h"

/* What differs between filters. All zero is the closest one that a confined program can have:
 * level none is treated as level landlock. */
typedef struct arcp__helper_filter {
    arcp__sandbox_level level;
    /* The version of Landlock. At level landlock the filter denies what an old one cannot. */
    uint32_t landlock;
    /* A broker answers the calls of ARCP__SANDBOX_TRAP_OWNER at level landlock. */
    bool has_broker;
    /* ... and of TRAP_FILES; without, the kernel alone decides them. */
    bool traps_files;
    /* ... and of TRAP_NAMES: the plan has patterns that only the broker can grant. */
    bool traps_names;
    /* ... and of TRAP_CONNECT; without, there are no local sockets but socketpair. */
    bool traps_connect;
    /* ... and at level landlock programs have TCP sockets, which connect to a proxy: the broker
     * answers TRAP_LISTEN, too. */
    bool has_proxy;
    /* Nothing is refused but what would hide calls from the broker (ENOSYS, as always), and all
     * calls that have a trap are passed on: the command is watched, not confined. Needs has_broker.
     */
    bool is_learning;
    /* The filter of the monitor: no new program, process or socket. Excludes all others. */
    bool is_monitor;
} arcp__helper_filter;

/* Installs the filter for this thread and its children, for good. Needs no_new_privs, one thread.
 *
 * 0 or an errno. With a broker *listener is its notification descriptor, close-on-exec (waiting
 * programs are interrupted by fatal signals only: WAIT_KILLABLE_RECV); otherwise -1. `listener` may
 * be NULL when `what` has no broker. EOPNOTSUPP: this machine is not in the table. */
int arcp__helper_filter_install(const arcp__helper_filter *what, int *listener);

/* The monitor's filter: no execve, new process (threads are allowed), ptrace, mount, namespace, new
 * socket or privilege; openat2, process_vm_readv and pidfd_getfd stay for the broker. */
int arcp__helper_filter_monitor(void);

/* Writes the filter for a machine into `out`, which has room for ARCP__HELPER_FILTER_MAX, and
 * returns its length. Pure: the same on every machine. */
size_t arcp__helper_filter_make(const arcp__helper_filter *what, arcp__sandbox_machine machine,
                                struct sock_filter *out);

#endif
