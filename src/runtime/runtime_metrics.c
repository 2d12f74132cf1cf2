/* What is measured of a runtime. */
#include "core/exposition.h"
#include "engine/metrics.h"
#include "gateway/gateway.h"
#include "runtime/runtime_state.h"

/* The buckets of the histogram arcp_commit_seconds. */
static const struct {
    int64_t upto_ns;
    const char *text; /* in seconds */
} buckets[ARCP__COMMIT_BUCKETS - 1] = {
    {100000, "0.0001"},  {250000, "0.00025"}, {500000, "0.0005"},  {1000000, "0.001"},
    {2500000, "0.0025"}, {5000000, "0.005"},  {10000000, "0.01"},  {25000000, "0.025"},
    {50000000, "0.05"},  {100000000, "0.1"},  {250000000, "0.25"}, {500000000, "0.5"},
    {1000000000, "1"},   {2500000000, "2.5"}, {5000000000, "5"},
};

void arcp__runtime_count_commit(arcp_runtime *runtime, int64_t took_ns)
{
    size_t bucket = 0;
    while (bucket < ARCP__COMMIT_BUCKETS - 1 && took_ns > buckets[bucket].upto_ns) {
        bucket++;
    }
    runtime->commits.counts[bucket]++;
    runtime->commits.sum_ns += took_ns < 0 ? 0 : (uint64_t)took_ns;
}

arcp_status arcp_runtime_write_metrics(const arcp_runtime *runtime, arcp_buf *out)
{
    uint64_t count = 0;
    arcp__metric_sums sums = {.sessions = 0};
    for (arcp__shard *shard = runtime->shards; shard != arcp__engines_end(runtime); shard++) {
        arcp__engine_add_metrics(shard->engine, &sums);
    }
    arcp__metric_sums_write(&sums, out);
    arcp__exposition_family(out, ARCP__METRIC_COMMIT_SECONDS);
    for (size_t i = 0; i < ARCP__COMMIT_BUCKETS; i++) {
        const bool is_last = i == ARCP__COMMIT_BUCKETS - 1;
        const char *labels[] = {"le", is_last ? "+Inf" : buckets[i].text, NULL};
        count += runtime->commits.counts[i];
        arcp__exposition_u64(out, "arcp_commit_seconds_bucket", labels, count);
    }
    arcp_buf_append_format(out, "arcp_commit_seconds_sum %llu.%09llu\n",
                           (unsigned long long)(runtime->commits.sum_ns / ARCP_NS_PER_SEC),
                           (unsigned long long)(runtime->commits.sum_ns % ARCP_NS_PER_SEC));
    arcp__exposition_u64(out, "arcp_commit_seconds_count", NULL, count);
    arcp__confinement_write_metrics(runtime, out);
    arcp__gateway_write_metrics(runtime->gateway, out);
    return arcp_buf_status(out);
}

bool arcp_runtime_is_ready(const arcp_runtime *runtime, const char **why)
{
    bool is_ready = true;
    *why = NULL;
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime) && is_ready;
         shard++) {
        is_ready = arcp__engine_is_ready(shard->engine, why);
    }
    return is_ready;
}
