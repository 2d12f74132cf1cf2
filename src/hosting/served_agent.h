/* An agent whose processes run many jobs each (mode: serve): its processes with their environment,
 * their sandboxes, which are made from the lease of its registration, and their networks. */
#ifndef ARCP_HOSTING_SERVED_AGENT_H
#define ARCP_HOSTING_SERVED_AGENT_H

#include "hosting/hosting.h"

typedef struct arcp__served_agent arcp__served_agent;

/* For an agent that is otherwise registered; its numbers are in range. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__served_agent_new(arcp__process_agent *agent,
                                                   const arcp__agent_row *from,
                                                   arcp__served_agent **out, arcp_error *err);
/* Kills its processes; no job of it may exist. NULL is accepted by all functions below. */
void arcp__served_agent_free(arcp__served_agent *served);

/* Whether the two registrations are the same, so that processes of one can run jobs of the other.
 */
bool arcp__served_agent_equals(const arcp__served_agent *served, const arcp__served_agent *other);

/* Its processes; NULL: each job has its own. */
arcp__served *arcp__served_agent_processes(const arcp__served_agent *served);

/* It gets no new jobs. */
void arcp__served_agent_retire(arcp__served_agent *served);
/* Whether no process is left. */
bool arcp__served_agent_is_idle(const arcp__served_agent *served);

#endif
