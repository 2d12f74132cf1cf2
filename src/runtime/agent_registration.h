/* The registration of an agent that is a program. */
#ifndef ARCP_RUNTIME_AGENT_REGISTRATION_H
#define ARCP_RUNTIME_AGENT_REGISTRATION_H

#include <arcp/runtime.h>

#include "base/arena.h"
#include "process/process.h"

/* Of an agent of one name and version, also of what was registered as it before a reload. */
typedef struct arcp__running {
    size_t jobs;
    size_t refs; /* registrations */
} arcp__running;

typedef struct arcp__process_agent {
    arcp_runtime *runtime;
    arcp__arena arena;      /* what the spec points to, and the next two */
    const char *const *env; /* NULL-terminated */
    const char *cwd;        /* or NULL */
    bool stderr_in_errors;
    size_t max_jobs;
    arcp__running *running;   /* a reference */
    arcp__process_spec spec;  /* what all its processes have in common */
    arcp__process_pool *pool; /* NULL: none wait, or it is retired */
    arcp__environment warm_environment;
    arcp__process_spec warm_spec;
} arcp__process_agent;

/* It is no longer offered: no process waits for its jobs. */
void arcp__process_agent_retire(arcp__process_agent *agent);
/* Not while a process of it runs for a job. NULL is accepted. */
void arcp__process_agent_free(arcp__process_agent *agent);

#endif
