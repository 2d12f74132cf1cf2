/* The children of all tables of this program, so that the table that reaps adopted orphans leaves
 * those of the others alone. Private to this folder. Any thread. */
#ifndef ARCP_PROCESS_PROCESS_CHILDREN_H
#define ARCP_PROCESS_PROCESS_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

/* A child is about to be started; then its pid, or 0 if it was not started. */
void arcp__children_begin(void);
void arcp__children_add(pid_t pid);
/* It was reaped, or is not ours any more. 0 is ignored. */
void arcp__children_remove(pid_t pid);
/* Whether a pid is that of a child of a table, or may be. */
bool arcp__children_may_have(pid_t pid);

#endif
