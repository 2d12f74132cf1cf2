#include "job/job_state.h"

/* The legal transitions of a job's status (§7.3). No row leaves a terminal status, so a job ends
 * exactly once, whatever races. [arcp:7.3-1] */
static const struct {
    arcp_job_status from, to;
} rows[] = {
    /* The agent runs: `status` running is recorded. */
    {ARCP_JOB_PENDING, ARCP_JOB_RUNNING},
    /* Before its agent runs: the start failed, its lease expired, its agent is gone while it was
     * queued, or the runtime stopped or restarted. */
    {ARCP_JOB_PENDING, ARCP_JOB_ERROR},
    /* Its client cancelled it, or its parent ended. */
    {ARCP_JOB_PENDING, ARCP_JOB_CANCELLED},
    /* max_runtime_sec passed, which counts from the acceptance, or jobs.queue_sec. */
    {ARCP_JOB_PENDING, ARCP_JOB_TIMED_OUT},
    /* job.result, or exit status 0. */
    {ARCP_JOB_RUNNING, ARCP_JOB_SUCCESS},
    /* job.error, another exit, LEASE_EXPIRED, BUDGET_EXHAUSTED, a limit, stop or restart. */
    {ARCP_JOB_RUNNING, ARCP_JOB_ERROR},
    /* Its client cancelled it, its parent ended, or the agent reported CANCELLED. */
    {ARCP_JOB_RUNNING, ARCP_JOB_CANCELLED},
    /* max_runtime_sec passed, or the agent reported TIMEOUT. */
    {ARCP_JOB_RUNNING, ARCP_JOB_TIMED_OUT},
};

bool arcp__job_status_may_become(arcp_job_status from, arcp_job_status to)
{
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        if (rows[row].from == from && rows[row].to == to) {
            return true;
        }
    }
    return false;
}

bool arcp__agent_state_may_become(arcp__agent_state from, arcp__agent_state to)
{
    switch (from) {
    case ARCP__AGENT_NONE:
        return to == ARCP__AGENT_QUEUED || to == ARCP__AGENT_STARTING || to == ARCP__AGENT_RELEASED;
    case ARCP__AGENT_QUEUED:
        return to == ARCP__AGENT_STARTING || to == ARCP__AGENT_RELEASED;
    case ARCP__AGENT_STARTING: /* QUEUED: its worker does not take it now */
        return to == ARCP__AGENT_RUNNING || to == ARCP__AGENT_EXITED || to == ARCP__AGENT_QUEUED;
    case ARCP__AGENT_RUNNING:
        return to == ARCP__AGENT_EXITED;
    case ARCP__AGENT_EXITED:
        return to == ARCP__AGENT_RELEASED;
    case ARCP__AGENT_RELEASED:
        return false;
    }
    return false;
}
