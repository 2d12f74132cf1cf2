/* The sandboxes of an agent: what is the same for all of its jobs, and the plan of one job. */
#ifndef ARCP_LAUNCH_AGENT_SANDBOX_H
#define ARCP_LAUNCH_AGENT_SANDBOX_H

#include "launch/command_base.h"
#include "launch/sandbox_host.h"

/* HOME of an agent in its sandbox. */
#define ARCP__AGENT_HOME "/home/agent"

/* Zero-initialised, `request` completed by the owner: it borrows what the request points to. */
typedef struct arcp__agent_sandbox {
    /* Everything but the lease, the bases and, for an agent without a directory of its own (an
     * empty `cwd`), the directory. arcp__sandbox_request_defaults, then what the operator says. */
    arcp__sandbox_request request;
    const char *const *bases; /* canonical paths that the operator adds; NULL-terminated or NULL */
    arcp__command_base command; /* found by arcp__agent_sandbox_find */
} arcp__agent_sandbox;

/* Finds what the agent's command needs. The same errors as arcp__command_base_find. */
ARCP_MUST_CHECK arcp_status arcp__agent_sandbox_find(arcp__agent_sandbox *agent,
                                                     const arcp__command_base_query *query,
                                                     arcp_error *err);
void arcp__agent_sandbox_fini(arcp__agent_sandbox *agent);

/* Of one job; borrowed during the call. Canonical paths. */
typedef struct arcp__agent_sandbox_job {
    const arcp_lease *lease;
    arcp_span fresh;    /* the directory that is made for the job; used when the agent has none */
    arcp_span scratch;  /* arcp__sandbox_request.scratch */
    arcp_span endpoint; /* arcp__sandbox_request.endpoint */
} arcp__agent_sandbox_job;

/* As arcp__sandbox_plan_new. */
ARCP_MUST_CHECK arcp_status arcp__agent_sandbox_plan(const arcp__agent_sandbox *agent,
                                                     const arcp__agent_sandbox_job *job,
                                                     arcp__sandbox_plan **out, arcp_error *err);

#endif
