/* What the gateway for models counts, for /metrics. Any thread. */
#ifndef ARCP_GATEWAY_MODEL_COUNTS_H
#define ARCP_GATEWAY_MODEL_COUNTS_H

#include "llm/llm_answer.h"
#include "llm/llm_line.h"

typedef struct model_counts model_counts;

typedef enum model_outcome {
    MODEL_ANSWERED, /* the provider answered, and the answer was charged */
    MODEL_FAILED,   /* the provider answered with an error, or not at all */
    MODEL_REFUSED,  /* the gateway refused the call */
    MODEL_OUTCOMES
} model_outcome;

model_counts *arcp__model_counts_new(void); /* NULL: out of memory */
void arcp__model_counts_free(model_counts *counts);
/* `provider` is empty for a call that was refused before its provider was known. */
void arcp__model_count_outcome(model_counts *counts, arcp_span provider, model_outcome outcome);
void arcp__model_count_first_byte(model_counts *counts, int64_t took_ns);
/* `currency` is that of the cost's total. */
void arcp__model_count_settled(model_counts *counts, arcp_span provider, arcp_span currency,
                               const arcp__llm_cost *cost);
/* What a call holds from now on, or gives back. */
void arcp__model_count_held(model_counts *counts, const arcp__llm_hold *hold);
void arcp__model_count_unheld(model_counts *counts, const arcp__llm_hold *hold);
void arcp__model_count_over_hold(model_counts *counts);
void arcp__model_count_waiting(model_counts *counts, size_t waiting);
/* Appends the metrics in Prometheus' text format. */
void arcp__model_counts_write(model_counts *counts, arcp_buf *out);

#endif
