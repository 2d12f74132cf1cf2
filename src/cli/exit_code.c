#include "cli/cli.h"

/* How a refused request or a job that ended so ends `arcp`. Everything that is not listed is 1. */
static const struct {
    arcp_status status;
    int code;
} exits[] = {
    {ARCP_OK, 0},
    {ARCP_E_USAGE, 2},
    {ARCP_E_UNAUTHENTICATED, 3},
    {ARCP_E_IO, 3},
    {ARCP_E_DEADLINE, 3},
    {ARCP_E_CLOSED, 3},
    {ARCP_E_HEARTBEAT_LOST, 3},
    {ARCP_E_PERMISSION_DENIED, 4},
    {ARCP_E_LEASE_SUBSET_VIOLATION, 4},
    {ARCP_E_LEASE_EXPIRED, 4},
    {ARCP_E_BUDGET_EXHAUSTED, 4},
    {ARCP_E_CANCELLED, 5},
    {ARCP_E_TIMEOUT, 6},
    {ARCP_E_INTERRUPTED, 130},
};

int arcp__exit_of_status(arcp_status status)
{
    for (size_t row = 0; row < sizeof(exits) / sizeof(exits[0]); row++) {
        if (exits[row].status == status) {
            return exits[row].code;
        }
    }
    return ARCP__EXIT_ERROR;
}

int arcp__exit_of_job_status(arcp_job_status status)
{
    switch (status) {
    case ARCP_JOB_SUCCESS:
        return ARCP__EXIT_SUCCESS;
    case ARCP_JOB_CANCELLED:
        return arcp__exit_of_status(ARCP_E_CANCELLED);
    case ARCP_JOB_TIMED_OUT:
        return arcp__exit_of_status(ARCP_E_TIMEOUT);
    case ARCP_JOB_PENDING:
    case ARCP_JOB_RUNNING:
    case ARCP_JOB_ERROR:
    case ARCP_JOB_STATUS_COUNT:
        break;
    }
    return ARCP__EXIT_ERROR;
}

int arcp__exit_of_outcome(const arcp_outcome *outcome)
{
    if (outcome->final_status == ARCP_JOB_SUCCESS) {
        return outcome->status == ARCP_OK ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
    }
    if (outcome->final_status == ARCP_JOB_CANCELLED ||
        outcome->final_status == ARCP_JOB_TIMED_OUT) {
        return arcp__exit_of_job_status(outcome->final_status);
    }
    /* A job's failure is never the connection's, whatever code it came with. */
    int code = arcp__exit_of_status(outcome->status);
    return code == 3 || code == 0 || code == 2 ? ARCP__EXIT_ERROR : code;
}
