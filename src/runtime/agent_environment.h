/* The environment of an agent: a clean one, nothing of ours by accident. */
#ifndef ARCP_RUNTIME_AGENT_ENVIRONMENT_H
#define ARCP_RUNTIME_AGENT_ENVIRONMENT_H

#include <arcp/error.h>
#include <arcp/span.h>

/* A growing list of NAME=VALUE, each name once. Zero-initialised is empty. */
typedef struct arcp__agent_environment {
    char **pairs; /* owned, NULL-terminated once it is not empty */
    size_t count;
    bool failed; /* an addition ran out of memory */
} arcp__agent_environment;

/* Sets a variable; one of that name is replaced. A value ends at its first NUL. Failure is
 * remembered: check `failed` once, at the end. */
void arcp__agent_environment_set(arcp__agent_environment *environment, const char *name,
                                 arcp_span value);

/* PATH, HOME, LANG and TZ as they are for us. PATH is never missing; HOME is the user's when
 * `user` is not NULL. */
void arcp__agent_environment_base(arcp__agent_environment *environment, const char *user);

/* What a registration passes: NAME=VALUE, or NAME for our own value where we have one.
 * NULL-terminated; may be NULL. */
void arcp__agent_environment_pass(arcp__agent_environment *environment, const char *const *names);

/* ARCP_JOB_ID, ARCP_AGENT, ARCP_TRACE_ID, TRACEPARENT and TRACESTATE out of a job.start line. */
void arcp__agent_environment_job(arcp__agent_environment *environment, arcp_span start);

void arcp__agent_environment_fini(arcp__agent_environment *environment);

#endif
