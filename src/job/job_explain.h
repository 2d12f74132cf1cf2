/* What a lease would be worth to a job (job_explain.c). */
#ifndef ARCP_JOB_JOB_EXPLAIN_H
#define ARCP_JOB_JOB_EXPLAIN_H

#include "job/job.h"

/* How a job of the order would be enforced, without making one: the checks of its agent and its
 * lease, the operator's policy, and the answer of the agent's host. Appends the members of an
 * object to `writer`. An order that the host would refuse is explained as well. The status is that
 * of a submit with such a lease or agent; then nothing is written. */
ARCP_MUST_CHECK arcp_status arcp__job_explain(arcp__jobs *jobs, arcp__job_order *order,
                                              arcp_json_writer *writer, arcp_buf *details,
                                              arcp_error *err);

#endif
