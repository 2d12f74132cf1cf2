/* One job of a process agent, as the runtime sees it: its gateways and the start of its program.
 * Private to src/runtime. */
#ifndef ARCP_RUNTIME_WORKER_HOST_JOB_H
#define ARCP_RUNTIME_WORKER_HOST_JOB_H

#include "hosting/hosted_job.h"
#include "runtime/agent_gateway.h"
#include "runtime/runtime_state.h"

/* One job. */
typedef struct arcp__worker_host_job {
    arcp_runtime *runtime;
    arcp__process_agent *agent;
    arcp__job *job;
    arcp__worker_program *program; /* owned */
    arcp__agent_gateway *gateway;  /* NULL: none, or not yet */
    arcp__hosted_job hosted;
} arcp__worker_host_job;

/* The plan that the job was admitted with; NULL: it is not confined. ARCP_E_INTERNAL_ERROR: it was
 * admitted before its agent was confined, and must not run bare. */
ARCP_MUST_CHECK arcp_status arcp__worker_host_plan(const arcp__worker_host_job *pj,
                                                   const arcp__job_plan **out, arcp_error *err);

/* The environment of a job's program, without what its gateways and its sandbox add. */
void arcp__worker_host_environment(const arcp__process_agent *agent, const arcp__job *job,
                                   arcp__environment *environment);

/* Takes a warm process, or requests the start of the job's own. */
ARCP_MUST_CHECK arcp_status arcp__worker_host_begin(arcp__worker_host_job *hj,
                                                    const arcp__agent_process_callbacks *callbacks,
                                                    arcp__worker_begun *out, arcp_error *err);

#endif
