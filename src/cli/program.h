/* What `arcp` and the programs of its kind (arcp-bench, arcp-conformance) share: arguments,
 * streams, the way to the runtime. */
#ifndef ARCP_CLI_PROGRAM_H
#define ARCP_CLI_PROGRAM_H

#include <arcp/client.h>

#include "cli/arguments.h"
#include "cli/config.h"
#include "cli/screen.h"

typedef struct arcp__program {
    arcp__arguments arguments;
    arcp__target target;
    arcp__screen screen; /* standard error */
    bool is_json;
    bool is_quiet;
    arcp_buf state_directory; /* NUL-terminated; empty when there is none */
} arcp__program;

/* ---- program.c ---- */

/* All of main(): reads the arguments of `command` (ARCP__COMMAND_ANY: the first word names it) and
 * lets `run` do the rest, unless they ask for the help or the version. Returns the exit status.
 * argv may be changed (a token in it is overwritten). */
int arcp__program_main(arcp__command command, int (*run)(arcp__program *program), int argc,
                       char **argv);

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

#endif
