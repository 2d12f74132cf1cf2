/* The figures of engines, added up, and written in Prometheus' text format. */
#ifndef ARCP_ENGINE_METRICS_H
#define ARCP_ENGINE_METRICS_H

#include "engine/engine.h"

/* Zero-initialised by its owner. */
typedef struct arcp__metric_sums {
    uint64_t sessions, connected, kept, queue_bytes, is_failing, outstanding, stuck;
    uint64_t outbox_waiting, outbox_failed;
    arcp__session_metrics session;
    arcp__job_metrics job;
    arcp__schedule_metrics schedule;
    arcp__hook_metrics hook;
} arcp__metric_sums;

void arcp__engine_add_metrics(const arcp__engine *engine, arcp__metric_sums *sums);
void arcp__metric_sums_write(const arcp__metric_sums *sums, arcp_buf *out);

#endif
