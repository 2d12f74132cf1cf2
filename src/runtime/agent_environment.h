/* What of a job.start line the environment of an agent's process has, too. */
#ifndef ARCP_RUNTIME_AGENT_ENVIRONMENT_H
#define ARCP_RUNTIME_AGENT_ENVIRONMENT_H

#include "process/process.h"

/* Sets ARCP_JOB_ID, ARCP_AGENT, ARCP_TRACE_ID, TRACEPARENT and TRACESTATE. */
void arcp__agent_environment_job(arcp__environment *environment, arcp_span start);

#endif
