#include "engine/job_lifecycle.h"

static const struct {
    arcp_job_status from, to;
} rows[] = {
#define ARCP_JOB_TRANSITION(from, to) {ARCP_JOB_##from, ARCP_JOB_##to},
#include "engine/job_transition.def"
#undef ARCP_JOB_TRANSITION
};

/* [arcp:7.3-1] */
bool arcp__job_status_may_become(arcp_job_status from, arcp_job_status to)
{
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        if (rows[row].from == from && rows[row].to == to) {
            return true;
        }
    }
    return false;
}
