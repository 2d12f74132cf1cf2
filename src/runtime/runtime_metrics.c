/* Figures for operators: the engine's, and what only its owner can time. */
#include "core/exposition.h"
#include "runtime/runtime_state.h"

static const struct {
    int64_t upto_ns;
    const char *text; /* in seconds */
} buckets[ARCP__COMMIT_BUCKETS - 1] = {
    {100000, "0.0001"},  {250000, "0.00025"}, {500000, "0.0005"},  {1000000, "0.001"},
    {2500000, "0.0025"}, {5000000, "0.005"},  {10000000, "0.01"},  {25000000, "0.025"},
    {50000000, "0.05"},  {100000000, "0.1"},  {250000000, "0.25"}, {500000000, "0.5"},
    {1000000000, "1"},   {2500000000, "2.5"}, {5000000000, "5"},
};

void arcp__runtime_note_commit(arcp_runtime *runtime, int64_t took_ns)
{
    size_t at = 0;
    while (at < ARCP__COMMIT_BUCKETS - 1 && took_ns > buckets[at].upto_ns) {
        at++;
    }
    runtime->commits.counts[at]++;
    runtime->commits.sum_ns += took_ns < 0 ? 0 : (uint64_t)took_ns;
}

static void write_commits(const arcp_runtime *runtime, arcp_buf *out)
{
    uint64_t count = 0;
    arcp__exposition_family(out, "arcp_commit_seconds", "histogram",
                            "From handing a batch to the store until it is durable.");
    for (size_t at = 0; at < ARCP__COMMIT_BUCKETS; at++) {
        bool is_last = at == ARCP__COMMIT_BUCKETS - 1;
        const char *labels[] = {"le", is_last ? "+Inf" : buckets[at].text, NULL};
        count += runtime->commits.counts[at];
        arcp__exposition_u64(out, "arcp_commit_seconds_bucket", labels, count);
    }
    arcp_buf_append_format(out, "arcp_commit_seconds_sum %llu.%09llu\n",
                           (unsigned long long)(runtime->commits.sum_ns / ARCP_NS_PER_SEC),
                           (unsigned long long)(runtime->commits.sum_ns % ARCP_NS_PER_SEC));
    arcp__exposition_u64(out, "arcp_commit_seconds_count", NULL, count);
}

arcp_status arcp_runtime_write_metrics(const arcp_runtime *runtime, arcp_buf *out)
{
    arcp__engine_write_metrics(runtime->engine, out);
    write_commits(runtime, out);
    return arcp_buf_status(out);
}

bool arcp_runtime_is_ready(const arcp_runtime *runtime, const char **why)
{
    return arcp__engine_is_ready(runtime->engine, why);
}
