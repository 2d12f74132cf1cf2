/* What operators see of sandboxes: metrics, and what the host can enforce. */
#include "base/hash.h"
#include "core/exposition.h"
#include "hosting/confinement.h"
#include "runtime/runtime_state.h"
#include "json/json_put.h"

static bool is_confined(const arcp_runtime *runtime, const arcp__agent_entry *entry)
{
    return runtime->hosting.confinement != NULL && entry->process.confinement.is_on;
}

static bool is_program(const arcp__agent_entry *entry)
{
    return entry->is_offered && entry->process.spec.argv != NULL;
}

/* ---- metrics ---- */

static void write_counters(const arcp_runtime *runtime, arcp_buf *out)
{
    const char *name = arcp__metric_name(ARCP__METRIC_SANDBOX_STARTS);
    arcp__exposition_family(out, ARCP__METRIC_SANDBOX_STARTS);
    for (unsigned i = ARCP__SANDBOX_LEVEL_NONE + 1; i < ARCP__SANDBOX_LEVEL_COUNT; i++) {
        const char *labels[] = {"level", arcp__sandbox_level_name((arcp__sandbox_level)i), NULL};
        arcp__exposition_u64(out, name, labels, runtime->hosting.sandboxes.starts[i]);
    }
    name = arcp__metric_name(ARCP__METRIC_SANDBOX_FAILURES);
    arcp__exposition_family(out, ARCP__METRIC_SANDBOX_FAILURES);
    for (unsigned i = 0; i < ARCP__SANDBOX_STEP_COUNT; i++) {
        const char *labels[] = {"step", arcp__sandbox_step_name(i), NULL};
        if (runtime->hosting.sandboxes.failures[i] != 0) {
            arcp__exposition_u64(out, name, labels, runtime->hosting.sandboxes.failures[i]);
        }
    }
    arcp__exposition_family(out, ARCP__METRIC_SANDBOX_START_SECONDS);
    arcp_buf_append_format(
        out, "arcp_sandbox_start_seconds_sum %llu.%09llu\n",
        (unsigned long long)(runtime->hosting.sandboxes.start_ns_sum / ARCP_NS_PER_SEC),
        (unsigned long long)(runtime->hosting.sandboxes.start_ns_sum % ARCP_NS_PER_SEC));
    arcp__exposition_u64(out, "arcp_sandbox_start_seconds_count", NULL,
                         runtime->hosting.sandboxes.start_count);
}

static void write_network(const arcp_runtime *runtime, arcp_buf *out)
{
    arcp__egress_counts counts = {0};
    arcp__agent_network_count(runtime->hosting.network, &counts);
    const struct {
        arcp__metric metric;
        const char *label, *value;
        uint64_t count;
    } rows[] = {{ARCP__METRIC_EGRESS_REQUESTS, "outcome", "allowed", counts.allowed},
                {ARCP__METRIC_EGRESS_REQUESTS, "outcome", "denied", counts.denied},
                {ARCP__METRIC_EGRESS_REQUESTS, "outcome", "failed", counts.failed},
                {ARCP__METRIC_EGRESS_BYTES, "direction", "out", counts.bytes_out},
                {ARCP__METRIC_EGRESS_BYTES, "direction", "in", counts.bytes_in}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *labels[] = {rows[i].label, rows[i].value, NULL};
        if (i == 0 || rows[i].metric != rows[i - 1].metric) {
            arcp__exposition_family(out, rows[i].metric);
        }
        arcp__exposition_u64(out, arcp__metric_name(rows[i].metric), labels, rows[i].count);
    }
    arcp__exposition_one(out, ARCP__METRIC_EGRESS_CONNECTIONS, counts.connections);
}

void arcp__confinement_write_metrics(const arcp_runtime *runtime, arcp_buf *out)
{
    uint64_t unconfined = 0;
    const arcp__agent_entry *entry = NULL;
    LL_FOREACH (runtime->agents, entry) {
        unconfined += is_program(entry) && !is_confined(runtime, entry);
    }
    write_counters(runtime, out);
    write_network(runtime, out);
    arcp__exposition_one(out, ARCP__METRIC_AGENTS_UNCONFINED, unconfined);
    arcp__exposition_family(out, ARCP__METRIC_HOST_LEVEL);
    for (unsigned i = 0; runtime->hosting.confinement != NULL && i < ARCP__SANDBOX_LEVEL_COUNT;
         i++) {
        const char *labels[] = {"level", arcp__sandbox_level_name((arcp__sandbox_level)i), NULL};
        arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_HOST_LEVEL), labels,
                             i == (unsigned)runtime->hosting.confinement->level);
    }
}

/* ---- the host ---- */

arcp_status arcp_runtime_write_enforcement(const arcp_runtime *runtime, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    const arcp__agent_entry *entry = NULL;
    arcp__put_cstr(&writer, "mode", runtime->hosting.confinement == NULL ? "off" : "on");
    if (runtime->hosting.confinement != NULL) {
        arcp__sandbox_abilities_explain(&runtime->hosting.confinement->abilities, &writer);
    }
    arcp__put_array(&writer, "agents");
    LL_FOREACH (runtime->agents, entry) {
        if (is_program(entry)) {
            arcp_json_begin_object(&writer);
            arcp__put_cstr(&writer, "agent", entry->name);
            arcp__put_word(&writer, "version", entry->version);
            arcp__put_bool(&writer, "confined", is_confined(runtime, entry));
            arcp_json_end_object(&writer);
        }
    }
    arcp_json_end_array(&writer);
    arcp_json_end_object(&writer);
    return arcp_buf_status(out);
}
