/* The life of a job as a table of transitions. */
#ifndef ARCP_ENGINE_JOB_LIFECYCLE_H
#define ARCP_ENGINE_JOB_LIFECYCLE_H

#include <arcp/wire.h>

/* Whether a job whose status is `from` may get the status `to`. */
bool arcp__job_status_may_become(arcp_job_status from, arcp_job_status to);

#endif
