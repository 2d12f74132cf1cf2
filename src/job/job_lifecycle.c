#include "job/job_state.h"

/* The legal transitions of a job's status (§7.3). What is not here does not happen; no row leaves a
 * terminal status, so that a job ends exactly once, whatever races. [arcp:7.3-1] */
static const struct {
    arcp_job_status from, to;
} rows[] = {
    /* The agent runs: `status` running is recorded. */
    {ARCP_JOB_PENDING, ARCP_JOB_RUNNING},
    /* Never started: it could not be; its lease expired, or the runtime stopped or restarted. */
    {ARCP_JOB_PENDING, ARCP_JOB_ERROR},
    /* By its client, or because its parent ended. */
    {ARCP_JOB_PENDING, ARCP_JOB_CANCELLED},
    /* max_runtime_sec counts from the acceptance. */
    {ARCP_JOB_PENDING, ARCP_JOB_TIMED_OUT},
    /* job.result, or exit status 0. */
    {ARCP_JOB_RUNNING, ARCP_JOB_SUCCESS},
    /* job.error, another exit, LEASE_EXPIRED, BUDGET_EXHAUSTED, a limit, stop or restart. */
    {ARCP_JOB_RUNNING, ARCP_JOB_ERROR},
    /* By its client, because its parent ended, or by the agent's own CANCELLED. */
    {ARCP_JOB_RUNNING, ARCP_JOB_CANCELLED},
    /* max_runtime_sec, or the agent's own TIMEOUT. */
    {ARCP_JOB_RUNNING, ARCP_JOB_TIMED_OUT},
};

bool arcp__job_status_may_become(arcp_job_status from, arcp_job_status to)
{
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
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
        return to == ARCP__AGENT_STARTING || to == ARCP__AGENT_RELEASED;
    case ARCP__AGENT_STARTING:
        return to == ARCP__AGENT_RUNNING || to == ARCP__AGENT_GONE;
    case ARCP__AGENT_RUNNING:
        return to == ARCP__AGENT_GONE;
    case ARCP__AGENT_GONE:
        return to == ARCP__AGENT_RELEASED;
    case ARCP__AGENT_RELEASED:
        return false;
    }
    return false;
}
