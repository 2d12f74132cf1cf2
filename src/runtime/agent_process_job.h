/* One job of a process agent, and the start of its program. Private to src/runtime. */
#ifndef ARCP_RUNTIME_AGENT_PROCESS_JOB_H
#define ARCP_RUNTIME_AGENT_PROCESS_JOB_H

#include "runtime/agent_gateway.h"
#include "runtime/agent_network.h"
#include "runtime/confinement.h"
#include "runtime/runtime_state.h"

/* One job. */
typedef struct arcp__process_job {
    struct arcp__process_job *previous, *next; /* in one of the runtime's two lists */
    arcp_runtime *runtime;
    arcp__process_agent *agent;
    arcp__job *job;
    arcp__agent_process *process;     /* NULL while it is queued, or if it could not be started */
    arcp__agent_gateway *gateway;     /* NULL: none, or not yet */
    arcp__agent_network_job *network; /* of its sandbox; NULL: none, not yet, or it is closed */
    arcp__tls_ca *ca;                 /* for its network, until that is served; or NULL */
    bool is_cut_off;                  /* it gets no network any more */
    bool is_waiting;                  /* in the queue */
    bool is_starting;                 /* requested from the thread */
    bool is_leasing; /* its sandbox gets the lease; lines for the program wait in `start` */
    uint64_t round;  /* of the queue */
    arcp__sandbox_level level; /* of its sandbox */
    int64_t requested_mono_ns; /* when its confined program was requested */
    /* While it is queued or gets its lease: job.start and the lines after it; secret: credentials.
     */
    arcp_buf start;
    arcp_buf stderr_kept;    /* the end of its standard error */
    arcp__agent_usage usage; /* as of usage_mono_ns */
    int64_t usage_mono_ns;   /* 0: never */
} arcp__process_job;

/* Whether the program gets its lease when it runs; NULL: it is not confined. */
static inline bool arcp__job_plan_is_late(const arcp__job_plan *plan)
{
    return plan != NULL && plan->plan->is_late;
}

/* The plan that the job was admitted with; NULL: it is not confined. ARCP_E_INTERNAL_ERROR: it was
 * admitted before its agent was confined, and must not run bare. */
ARCP_MUST_CHECK arcp_status arcp__process_job_plan(const arcp__process_job *pj,
                                                   const arcp__job_plan **out, arcp_error *err);

/* Requests the start of the job's own program, in the directory `cwd`, by the plan (may be NULL).
 */
ARCP_MUST_CHECK arcp_status
arcp__process_job_start_program(arcp__process_job *pj, const char *cwd, const arcp__job_plan *plan,
                                const arcp__agent_process_callbacks *callbacks, arcp_error *err);

/* ---- agent_process_look.c: what is shown of a program ---- */
/* Adds a line of standard error. */
void arcp__process_job_keep_stderr(arcp__process_job *pj, arcp_span line);
void arcp__process_job_drop_stderr(arcp__process_job *pj);
/* Operations of the host (arcp__agent_host_ops). */
void arcp__process_job_usage(void *agent, arcp__agent_usage *out);
bool arcp__process_job_stderr(void *agent, arcp_buf *out);

#endif
