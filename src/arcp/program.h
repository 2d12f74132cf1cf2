/* What the commands of `arcp` share: arguments, streams, signals, the way to the runtime. */
#ifndef ARCP_ARCP_PROGRAM_H
#define ARCP_ARCP_PROGRAM_H

#include <arcp/client.h>

#include "arcp/arguments.h"
#include "arcp/config.h"
#include "arcp/event_line.h"
#include "arcp/screen.h"

#define ARCP__PROGRAM_VERSION "0.1.0"

typedef struct arcp__program {
    arcp__arguments arguments;
    arcp__target target;
    arcp__screen screen; /* standard error */
    arcp__line_style style;
    bool is_json;
    bool is_quiet;
    arcp_buf state_directory; /* NUL-terminated; empty when there is none */
} arcp__program;

/* ---- program.c ---- */

/* Says what went wrong, and what could be done about it; with --json also on standard output.
 * Returns the exit status that goes with it. */
int arcp__program_fail(arcp__program *program, const arcp_failure *failure);

/* Says why no token was sent; false when one was. */
bool arcp__program_say_no_token(arcp__program *program);

/* The same as arcp__program_fail where no runtime is asked: a file's fault is no connection's,
 * whose exit status IO has elsewhere. */
int arcp__program_fail_file(arcp__program *program, const arcp_error *err);

/* What --json has of it, for a command that says it in its own words; else nothing. */
void arcp__program_print_failure(arcp__program *program, const arcp_failure *failure);

/* A fault in how `arcp` was called. */
int arcp__program_usage(arcp__program *program, const arcp_error *err);

/* Writes to standard output; false (and said) when that is not possible. */
bool arcp__program_print(arcp__program *program, arcp_span text);
/* With a line feed behind it; a terminal gets what a peer may have put in as escapes. */
bool arcp__program_print_line(arcp__program *program, arcp_span text);
/* The same with a text that was put together: that there was no memory for it is said, too. A line
 * feed is appended to the second one's. */
bool arcp__program_print_buf(arcp__program *program, const arcp_buf *text);
bool arcp__program_print_buf_line(arcp__program *program, arcp_buf *text);

/* ---- connect.c ---- */

/* Options that lead to the runtime that was asked for; they borrow from the program. */
ARCP_MUST_CHECK arcp_status arcp__program_options(arcp__program *program, arcp_client_options *out,
                                                  arcp_error *err);

/* Connects; NULL when that failed, which is said then, and *exit_status set. */
ARCP_MUST_CHECK arcp_client *
arcp__program_connect(arcp__program *program, const arcp_client_options *options, int *exit_status);
/* The same with arcp__program_options as they are. */
ARCP_MUST_CHECK arcp_client *arcp__program_open(arcp__program *program, int *exit_status);

/* ---- interrupt.c ---- */

/* From here on SIGINT is counted and interrupts the client's waits, instead of ending the
 * program; NULL ends that. */
void arcp__interrupt_watch(arcp_client *client);
/* How often SIGINT came. */
unsigned arcp__interrupt_count(void);
/* Whether the window's size has changed since the last call. */
bool arcp__interrupt_resized(void);

/* ---- the commands: each returns the exit status ---- */

int arcp__command_submit(arcp__program *program);
int arcp__command_watch(arcp__program *program);
int arcp__command_jobs(arcp__program *program);
int arcp__command_cancel(arcp__program *program);
int arcp__command_agents(arcp__program *program);
int arcp__command_credentials(arcp__program *program);
int arcp__command_ping(arcp__program *program);
int arcp__command_bench(arcp__program *program);
/* 0 no case failed; 1 one did; 3 no session could be opened. */
int arcp__command_conformance(arcp__program *program);
/* 0 yes; 1 a lease that cannot be read; 4 denied, or not a subset. */
int arcp__command_lease(arcp__program *program);
/* 0 the chain is whole, or lines were looked for; 1 a file cannot be read; 4 the chain is not
 * whole. */
int arcp__command_audit(arcp__program *program);
/* 0 done; 1 not. */
int arcp__command_store(arcp__program *program);

/* ---- command_credentials.c ---- */

/* Where arcpd's store is: what the option says, as arcpd takes it, or the database in its state
 * directory. With an end of string; false when there is none (or no memory: `out` has failed). */
bool arcp__store_path(const arcp__program *program, arcp__option option, arcp_buf *out);

#endif
