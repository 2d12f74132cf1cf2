#include "gateway/model_counts.h"

#include <pthread.h>
#include <stdio.h>

#include <arcp/time.h>

#include "base/alloc.h"
#include "core/decimal.h"
#include "core/exposition.h"

/* More than a configuration has; those of earlier ones are kept until arcpd exits. */
#define PROVIDERS_MAX  128
#define CURRENCIES_MAX 32
#define NAME_SIZE      33

typedef struct provider_counts {
    char name[NAME_SIZE];
    uint64_t outcomes[MODEL_OUTCOMES];
    uint64_t input_tokens, output_tokens;
} provider_counts;

typedef struct currency_counts {
    char name[NAME_SIZE];
    arcp_decimal spent;
    arcp__units held;
    bool is_spent;
} currency_counts;

struct model_counts {
    pthread_mutex_t lock;
    provider_counts providers[PROVIDERS_MAX];
    size_t provider_count;
    currency_counts currencies[CURRENCIES_MAX];
    size_t currency_count;
    uint64_t over_hold, waiting;
    uint64_t first_bytes, first_byte_ns; /* how many, and their sum */
};

model_counts *arcp__model_counts_new(void)
{
    model_counts *counts = arcp__alloc(sizeof *counts);
    if (counts != NULL) {
        (void)pthread_mutex_init(&counts->lock, NULL);
    }
    return counts;
}

void arcp__model_counts_free(model_counts *counts)
{
    if (counts != NULL) {
        (void)pthread_mutex_destroy(&counts->lock);
        arcp__free(counts);
    }
}

static void copy_name(char out[NAME_SIZE], arcp_span name)
{
    (void)snprintf(out, NAME_SIZE, "%.*s", (int)name.size, name.size == 0 ? "" : name.data);
}

/* Called with the lock held. Without a place for one more, the last one counts for all others. */
static provider_counts *provider_of(model_counts *counts, arcp_span name)
{
    char text[NAME_SIZE];
    size_t i = 0;
    copy_name(text, name);
    while (i < counts->provider_count && strcmp(counts->providers[i].name, text) != 0) {
        i++;
    }
    if (i == counts->provider_count && i < PROVIDERS_MAX) {
        counts->provider_count++;
        memcpy(counts->providers[i].name, text, sizeof text);
    }
    return &counts->providers[i < PROVIDERS_MAX ? i : PROVIDERS_MAX - 1];
}

/* Called with the lock held. */
static currency_counts *currency_of(model_counts *counts, arcp_span name)
{
    char text[NAME_SIZE];
    size_t i = 0;
    copy_name(text, name);
    while (i < counts->currency_count && strcmp(counts->currencies[i].name, text) != 0) {
        i++;
    }
    if (i == counts->currency_count && i < CURRENCIES_MAX) {
        counts->currency_count++;
        memcpy(counts->currencies[i].name, text, sizeof text);
    }
    return &counts->currencies[i < CURRENCIES_MAX ? i : CURRENCIES_MAX - 1];
}

void arcp__model_count_outcome(model_counts *counts, arcp_span provider, model_outcome outcome)
{
    (void)pthread_mutex_lock(&counts->lock);
    provider_of(counts, provider)->outcomes[outcome]++;
    (void)pthread_mutex_unlock(&counts->lock);
}

void arcp__model_count_first_byte(model_counts *counts, int64_t took_ns)
{
    (void)pthread_mutex_lock(&counts->lock);
    counts->first_bytes++;
    counts->first_byte_ns += took_ns < 0 ? 0 : (uint64_t)took_ns;
    (void)pthread_mutex_unlock(&counts->lock);
}

void arcp__model_count_settled(model_counts *counts, arcp_span provider, arcp_span currency,
                               const arcp__llm_cost *cost)
{
    (void)pthread_mutex_lock(&counts->lock);
    provider_counts *of = provider_of(counts, provider);
    currency_counts *in = currency_of(counts, currency);
    of->input_tokens += cost->input_tokens;
    of->output_tokens += cost->output_tokens;
    in->is_spent = true;
    (void)!arcp_decimal_add(in->spent, cost->total, &in->spent); /* or it stays at the largest */
    (void)pthread_mutex_unlock(&counts->lock);
}

static void add_held(model_counts *counts, const arcp__llm_hold *hold, int sign)
{
    (void)pthread_mutex_lock(&counts->lock);
    for (size_t i = 0; i < hold->demand_count; i++) {
        currency_of(counts, hold->demands[i].currency)->held +=
            sign * arcp__decimal_units(hold->held[i]);
    }
    (void)pthread_mutex_unlock(&counts->lock);
}

void arcp__model_count_held(model_counts *counts, const arcp__llm_hold *hold)
{
    add_held(counts, hold, 1);
}

void arcp__model_count_unheld(model_counts *counts, const arcp__llm_hold *hold)
{
    add_held(counts, hold, -1);
}

void arcp__model_count_over_hold(model_counts *counts)
{
    (void)pthread_mutex_lock(&counts->lock);
    counts->over_hold++;
    (void)pthread_mutex_unlock(&counts->lock);
}

void arcp__model_count_waiting(model_counts *counts, size_t waiting)
{
    (void)pthread_mutex_lock(&counts->lock);
    counts->waiting = waiting;
    (void)pthread_mutex_unlock(&counts->lock);
}

/* ---- writing; all with the lock held ---- */

static void write_requests(const model_counts *counts, arcp_buf *out)
{
    static const char *const outcomes[MODEL_OUTCOMES] = {"answered", "failed", "refused"};
    arcp__exposition_family(out, ARCP__METRIC_LLM_REQUESTS);
    for (size_t i = 0; i < counts->provider_count; i++) {
        const provider_counts *of = &counts->providers[i];
        for (size_t j = 0; j < MODEL_OUTCOMES; j++) {
            const char *const labels[] = {"provider", of->name, "outcome", outcomes[j], NULL};
            if (of->outcomes[j] != 0) {
                arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_LLM_REQUESTS), labels,
                                     of->outcomes[j]);
            }
        }
    }
}

static void write_tokens(const model_counts *counts, arcp_buf *out)
{
    arcp__exposition_family(out, ARCP__METRIC_LLM_TOKENS);
    for (size_t i = 0; i < counts->provider_count; i++) {
        const provider_counts *of = &counts->providers[i];
        const char *const input[] = {"provider", of->name, "direction", "input", NULL};
        const char *const output[] = {"provider", of->name, "direction", "output", NULL};
        if (of->outcomes[MODEL_ANSWERED] + of->outcomes[MODEL_FAILED] != 0) {
            arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_LLM_TOKENS), input,
                                 of->input_tokens);
            arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_LLM_TOKENS), output,
                                 of->output_tokens);
        }
    }
}

static void write_amounts(const model_counts *counts, arcp__metric metric, arcp_buf *out)
{
    arcp__exposition_family(out, metric);
    for (size_t i = 0; i < counts->currency_count; i++) {
        const currency_counts *in = &counts->currencies[i];
        const char *const labels[] = {"currency", in->name, NULL};
        const bool is_spend = metric == ARCP__METRIC_LLM_SPEND;
        char text[ARCP_DECIMAL_TEXT_MAX];
        if (is_spend && !in->is_spent) {
            continue;
        }
        const size_t size =
            arcp_decimal_format(is_spend ? in->spent : arcp__decimal_of(in->held), text);
        arcp__exposition_text(out, arcp__metric_name(metric), labels, arcp_span_make(text, size));
    }
}

void arcp__model_counts_write(model_counts *counts, arcp_buf *out)
{
    (void)pthread_mutex_lock(&counts->lock);
    write_requests(counts, out);
    write_tokens(counts, out);
    write_amounts(counts, ARCP__METRIC_LLM_SPEND, out);
    write_amounts(counts, ARCP__METRIC_LLM_HOLD, out);
    arcp__exposition_one(out, ARCP__METRIC_LLM_WAITING, counts->waiting);
    arcp__exposition_one(out, ARCP__METRIC_LLM_OVER_HOLD, counts->over_hold);
    arcp__exposition_family(out, ARCP__METRIC_LLM_FIRST_BYTE_SECONDS);
    const char *name = arcp__metric_name(ARCP__METRIC_LLM_FIRST_BYTE_SECONDS);
    arcp_buf_append_format(out, "%s_sum %llu.%09llu\n%s_count %llu\n", name,
                           (unsigned long long)(counts->first_byte_ns / ARCP_NS_PER_SEC),
                           (unsigned long long)(counts->first_byte_ns % ARCP_NS_PER_SEC), name,
                           (unsigned long long)counts->first_bytes);
    (void)pthread_mutex_unlock(&counts->lock);
}
