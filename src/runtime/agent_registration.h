/* The registration of an agent that is a program. */
#ifndef ARCP_RUNTIME_AGENT_REGISTRATION_H
#define ARCP_RUNTIME_AGENT_REGISTRATION_H

#include <arcp/runtime.h>

#include "process/process.h"

typedef struct arcp__process_agent {
    arcp_runtime *runtime;
    char **command, **env;     /* owned, NULL-terminated */
    char *cwd, *user;          /* owned or NULL */
    arcp_launch_limit *limits; /* owned or NULL */
    size_t limit_count;
    bool is_plain;
    bool stderr_in_errors;
    size_t max_jobs;
    size_t running;
    arcp__process_spec spec;  /* what all its processes have in common; points to the above */
    arcp__process_pool *pool; /* NULL: none wait, or it is retired */
    arcp__environment warm_environment;
    arcp__process_spec warm_spec;
} arcp__process_agent;

/* Not while a process of it runs for a job. NULL is accepted. */
void arcp__process_agent_free(arcp__process_agent *agent);

#endif
