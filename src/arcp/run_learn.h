/* `arcp run --learn` and `arcp lease learn`: what a command that is not confined does, and the
 * lease that it would need. */
#ifndef ARCP_ARCP_RUN_LEARN_H
#define ARCP_ARCP_RUN_LEARN_H

#include "arcp/run.h"

typedef struct arcp__run_learn arcp__run_learn;

/* ---- before the command ---- */

/* Sets what arcp__run_lease sets, but the lease grants nothing. ARCP_E_USAGE for options that make
 * a lease. */
ARCP_MUST_CHECK arcp_status arcp__run_learn_lease(arcp__run *run, arcp_error *err);

/* Makes run->learn and run->plan. The request of the same command with its lease, which grants
 * nothing, is complete. ARCP_E_AGENT_NOT_AVAILABLE: this host cannot show what a command does;
 * ARCP_E_USAGE when the file of --learn cannot be written. */
ARCP_MUST_CHECK arcp_status arcp__run_learn_new(arcp__run *run, arcp_error *err);
void arcp__run_learn_free(arcp__run_learn *learn); /* NULL is accepted */

/* ---- while it runs ---- */

/* Takes a record of arcp-sandbox; false: it is about something else. */
bool arcp__run_learn_record(arcp__run_learn *learn, arcp_span record);

/* A URL that the network has allowed; `is_host`: what is asked for there is not seen. */
void arcp__run_learn_url(arcp__run_learn *learn, arcp_span url, bool is_host);

/* ---- after its end ---- */

/* Prints what was seen, and writes the lease. `has_failed`: the command did. False: there is no
 * lease, and an error was printed. */
ARCP_MUST_CHECK bool arcp__run_learn_end(arcp__run *run, bool has_failed);

#endif
