/* What the operator is told of a job (job_log.c). Private to src/engine. */
#ifndef ARCP_ENGINE_JOB_LOG_H
#define ARCP_ENGINE_JOB_LOG_H

#include "engine/state.h"

/* An agent reported to have spent so much; for the line at its end. */
void arcp__job_cost_add(arcp__job *job, arcp_span currency, arcp_decimal amount);
void arcp__job_costs_free(arcp__job_live *live);
/* A line about a job, with its id, agent, principal, session, parent and trace as fields. */
void arcp__job_log(arcp__engine *engine, arcp__log_level level, const arcp__job *job,
                   const char *message);
/* It has ended: how, after how long, and what it cost; for the log and the audit log. */
void arcp__job_log_end(arcp__engine *engine, const arcp__job *job);

#endif
