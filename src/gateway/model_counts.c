#include "gateway/model_counts.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "core/exposition.h"

struct model_counts {
    _Atomic uint64_t outcomes[MODEL_OUTCOMES];
    _Atomic uint64_t input_tokens, output_tokens, over_hold, waiting;
};

model_counts *arcp__model_counts_new(void)
{
    return arcp__alloc(sizeof(model_counts));
}

void arcp__model_counts_free(model_counts *counts)
{
    arcp__free(counts);
}

void arcp__model_count_outcome(model_counts *counts, model_outcome outcome)
{
    atomic_fetch_add_explicit(&counts->outcomes[outcome], 1, memory_order_relaxed);
}

void arcp__model_count_settled(model_counts *counts, const arcp__llm_cost *cost)
{
    atomic_fetch_add_explicit(&counts->input_tokens, cost->input_tokens, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts->output_tokens, cost->output_tokens, memory_order_relaxed);
}

void arcp__model_count_over_hold(model_counts *counts)
{
    atomic_fetch_add_explicit(&counts->over_hold, 1, memory_order_relaxed);
}

void arcp__model_count_waiting(model_counts *counts, size_t waiting)
{
    atomic_store_explicit(&counts->waiting, waiting, memory_order_relaxed);
}

void arcp__model_counts_write(model_counts *counts, arcp_buf *out)
{
    static const char *const outcomes[MODEL_OUTCOMES] = {"answered", "failed", "refused"};
    const struct {
        const char *name;
        uint64_t tokens;
    } directions[] = {{"input", counts->input_tokens}, {"output", counts->output_tokens}};
    arcp__exposition_family(out, ARCP__METRIC_LLM_REQUESTS);
    for (size_t i = 0; i < MODEL_OUTCOMES; i++) {
        const char *const labels[] = {"outcome", outcomes[i], NULL};
        arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_LLM_REQUESTS), labels,
                             counts->outcomes[i]);
    }
    arcp__exposition_family(out, ARCP__METRIC_LLM_TOKENS);
    for (size_t i = 0; i < 2; i++) {
        const char *const labels[] = {"direction", directions[i].name, NULL};
        arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_LLM_TOKENS), labels,
                             directions[i].tokens);
    }
    arcp__exposition_one(out, ARCP__METRIC_LLM_WAITING, counts->waiting);
    arcp__exposition_one(out, ARCP__METRIC_LLM_OVER_HOLD, counts->over_hold);
}
