#include "arcp/exit_code.h"

static const struct {
    arcp_status status;
    int code;
} exits[] = {
#define ARCP_EXIT(status, code) {ARCP_##status, code},
#include "arcp/exit_code.def"
#undef ARCP_EXIT
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
