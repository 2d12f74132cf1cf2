/* The agents of a worker, by the texts of their registrations (hosting/agent_row.h): their warm and
 * served processes, and their sandboxes. Private to the program arcp-worker.
 *
 *     jobs, or the runtime's list ──> KNOWN ── neither any more, and no process is left ──> freed
 */
#ifndef ARCP_ARCP_WORKER_AGENTS_H
#define ARCP_ARCP_WORKER_AGENTS_H

#include "hosting/agent_row.h"

typedef struct arcp__known_agent {
    struct arcp__known_agent *prev, *next;
    arcp_buf text; /* of its registration; secret: it has variables */
    arcp__process_agent agent;
    size_t jobs;
    bool is_listed; /* by the runtime, for later jobs */
} arcp__known_agent;

/* Zero-initialised but for `hosting`. */
typedef struct arcp__known_agents {
    arcp__hosting *hosting; /* the owner's */
    arcp_buf host;          /* the text by which the hosting was set last */
    arcp__known_agent *first;
} arcp__known_agents;

/* Sets the hosting (arcp__hosting_read), unless it was set by this text last. */
ARCP_MUST_CHECK arcp_status arcp__known_agents_set_host(arcp__known_agents *agents, arcp_span text,
                                                        arcp_error *err);

/* The agent of a job, which is counted. Errors as those of the texts and of the registration. */
ARCP_MUST_CHECK arcp_status arcp__known_agents_take(arcp__known_agents *agents,
                                                    const arcp__start_row *row,
                                                    arcp__known_agent **out, arcp_error *err);
/* A job of it has been forgotten. */
void arcp__known_agents_release(arcp__known_agents *agents, arcp__known_agent *agent);

/* The agents that the runtime has now: rows without a job. Their warm processes are started; other
 * agents get no processes any more but for the jobs that they have. */
void arcp__known_agents_list(arcp__known_agents *agents, arcp_span rows);

/* No job is left. */
void arcp__known_agents_fini(arcp__known_agents *agents);

#endif
