/* One job of a process agent, as the runtime sees it: its gateways, its network and the start of
 * its program. Private to src/runtime. */
#ifndef ARCP_RUNTIME_WORKER_HOST_JOB_H
#define ARCP_RUNTIME_WORKER_HOST_JOB_H

#include "runtime/agent_gateway.h"
#include "runtime/agent_network.h"
#include "runtime/confinement.h"
#include "runtime/runtime_state.h"

/* One job. */
typedef struct arcp__worker_host_job {
    arcp_runtime *runtime;
    arcp__process_agent *agent;
    arcp__job *job;
    arcp__worker_program *program;    /* owned */
    arcp__agent_gateway *gateway;     /* NULL: none, or not yet */
    arcp__agent_network_job *network; /* of its sandbox; NULL: none, not yet, or it is closed */
    arcp__tls_ca *ca;                 /* for its network, until that is served; or NULL */
    bool is_cut_off;                  /* it gets no network any more */
    arcp__sandbox_level level;        /* of its sandbox */
    int64_t requested_mono_ns;        /* when its confined program was requested */
} arcp__worker_host_job;

/* Whether the program gets its lease when it runs; NULL: it is not confined. */
static inline bool arcp__job_plan_is_late(const arcp__job_plan *plan)
{
    return plan != NULL && plan->plan->is_late;
}

/* The plan that the job was admitted with; NULL: it is not confined. ARCP_E_INTERNAL_ERROR: it was
 * admitted before its agent was confined, and must not run bare. */
ARCP_MUST_CHECK arcp_status arcp__worker_host_plan(const arcp__worker_host_job *pj,
                                                   const arcp__job_plan **out, arcp_error *err);

/* The environment of a job's program, without what its gateways and its sandbox add. */
void arcp__worker_host_environment(const arcp__process_agent *agent, const arcp__job *job,
                                   arcp__environment *environment);

/* Requests the start of the job's own program, in the directory `cwd`, by the plan (may be NULL).
 */
ARCP_MUST_CHECK arcp_status arcp__worker_host_start_program(
    arcp__worker_host_job *pj, const char *cwd, const arcp__job_plan *plan,
    const arcp__agent_process_callbacks *callbacks, arcp__agent_process **out, arcp_error *err);

#endif
