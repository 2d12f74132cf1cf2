/* What the engine counts for operators. The number of samples is bounded whatever peers do:
 * agents and currencies beyond a few are counted as "other". Private to src/engine. */
#ifndef ARCP_ENGINE_METRICS_H
#define ARCP_ENGINE_METRICS_H

#include <arcp/decimal.h>
#include <arcp/error.h>
#include <arcp/wire.h>

#include "core/capability.h"
#include "core/lease_amount.h"

#define ARCP__METRIC_AGENTS_MAX     64u
#define ARCP__METRIC_CURRENCIES_MAX 16u

typedef struct arcp__agent_metrics {
    char name[64]; /* without version */
    uint64_t live;
    uint64_t ended[ARCP_JOB_STATUS_COUNT];
} arcp__agent_metrics;

typedef struct arcp__metrics {
    arcp__agent_metrics agents[ARCP__METRIC_AGENTS_MAX + 1]; /* the last one: other */
    size_t agent_count;
    struct {
        char currency[ARCP__CURRENCY_BYTES_MAX + 1];
        arcp_decimal amount;
    } spent[ARCP__METRIC_CURRENCIES_MAX + 1]; /* the last one: other */
    size_t currency_count;
    uint64_t denials[ARCP_STATUS_COUNT][ARCP__CAPABILITY_COUNT];
    uint64_t submits_refused[ARCP_STATUS_COUNT];
    uint64_t sessions_opened, sessions_resumed, authentications_refused;
    uint64_t refusals_counted; /* without a line of their own */
    uint64_t back_pressure, agent_pauses;
} arcp__metrics;

#endif
