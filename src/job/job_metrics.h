/* Figures about jobs, for the metrics and for the log. */
#ifndef ARCP_JOB_JOB_METRICS_H
#define ARCP_JOB_JOB_METRICS_H

#include <arcp/wire.h>

#include "core/capability.h"
#include "core/decimal.h"
#include "core/job_port.h"
#include "job/agent_host.h"
#include "job/job_facts.h"

#define ARCP__METRIC_AGENTS_MAX     64u
#define ARCP__METRIC_CURRENCIES_MAX 16u

typedef struct arcp__agent_metrics {
    char name[64]; /* without version */
    uint64_t live;
    uint64_t queued; /* of these, the jobs that wait for a place */
    uint64_t ended[ARCP_JOB_STATUS_COUNT];
} arcp__agent_metrics;

/* Counters for the metrics. The number of samples is bounded: agents and currencies beyond the
 * limits are counted as "other". */
typedef struct arcp__job_metrics {
    arcp__agent_metrics agents[ARCP__METRIC_AGENTS_MAX + 1]; /* the last one: other */
    size_t agent_count;
    arcp__currency_sum spent[ARCP__METRIC_CURRENCIES_MAX + 1]; /* the last one: other */
    size_t currency_count;
    uint64_t denials[ARCP_STATUS_COUNT][ARCP__CAPABILITY_COUNT];
    uint64_t enforced[ARCP__DENIAL_LAYER_COUNT][ARCP__CAPABILITY_COUNT]; /* by sandboxes */
    uint64_t began_count, denial_count, event_count, agent_pauses;
} arcp__job_metrics;

/* Adds the counters of one engine to those of others. */
void arcp__job_metrics_add(arcp__job_metrics *sums, const arcp__job_metrics *more);

#endif
