/* What is counted of sessions and links, for operators; of jobs: job/job.h. Private to src/engine.
 */
#ifndef ARCP_ENGINE_METRICS_H
#define ARCP_ENGINE_METRICS_H

#include <arcp/error.h>

typedef struct arcp__metrics {
    uint64_t submits_refused[ARCP_STATUS_COUNT];
    uint64_t sessions_opened, sessions_resumed, authentications_refused;
    uint64_t refusals_counted; /* without a line of their own */
    uint64_t back_pressure;
} arcp__metrics;

#endif
