/* Starting programs in sandboxes, for the benches of them. An error ends the program. */
#ifndef ARCP_BENCH_SANDBOX_STARTS_H
#define ARCP_BENCH_SANDBOX_STARTS_H

#include <stdbool.h>

#include <arcp/buf.h>
#include <arcp/sys/launcher.h>

#include "sandbox/sandbox.h"

typedef struct start_case {
    arcp_buf plan;           /* its text; empty: the program is not confined */
    const char *const *argv; /* NULL: /bin/true */
} start_case;

typedef struct started {
    arcp_process *process;
    int control; /* the other end of the sandbox's control socket; -1: none */
} started;

void must(bool holds, const char *what);

/* Makes the directory that the leases grant, an /etc and a launcher; the abilities of this host. */
const arcp__sandbox_abilities *starts_begin(void);
void starts_end(void);
const char *starts_directory(void);
const char *starts_etc(void);

/* The text of a plan for a lease by a pattern in which each @ stands for the directory; empty on a
 * host that has not this level. */
arcp_buf starts_plan(arcp__sandbox_level level, const char *pattern, bool is_silent);

/* Starts a program whose standard output is `out`; -1: the null device. */
started starts_start(const start_case *one, int out);
/* Waits for the end, which must be a success. What the program and its sandbox used is in *end,
 * which may be NULL. */
void starts_wait(started *one, arcp_process_exit *end);
/* Forgets one that was killed. */
void starts_forget(started *one);

#endif
