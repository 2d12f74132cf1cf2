/* The commands that are built into `arcp`: each returns the exit status. */
#ifndef ARCP_ARCP_COMMAND_H
#define ARCP_ARCP_COMMAND_H

#include "cli/program.h"

int arcp__command_submit(arcp__program *program);
int arcp__command_watch(arcp__program *program);
int arcp__command_jobs(arcp__program *program);
int arcp__command_cancel(arcp__program *program);
int arcp__command_agents(arcp__program *program);
int arcp__command_credentials(arcp__program *program);
int arcp__command_ping(arcp__program *program);
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
