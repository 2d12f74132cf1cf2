/* Writes the state of a runtime for people, then the state of its engine. */
#include "base/clock.h"
#include "runtime/runtime_state.h"
#include "json/json_put.h"

static void dump_runtime(arcp_runtime *runtime, arcp_time now, arcp_buf *out)
{
    uint64_t links = 0;
    arcp__agent_inbox *inbox = &runtime->inbox;
    for (const arcp__runtime_link *link = runtime->links; link != NULL; link = link->next) {
        links++;
    }
    unsigned batches = 0;
    int64_t oldest_ns = now.mono_ns;
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        batches += shard->batches_under_way;
        if (shard->batches_under_way != 0 && shard->submitted_ns[0] < oldest_ns) {
            oldest_ns = shard->submitted_ns[0];
        }
    }
    (void)pthread_mutex_lock(&inbox->mutex);
    const size_t inbox_bytes = inbox->bytes;
    const size_t calls_queued = inbox->queued_count;
    (void)pthread_mutex_unlock(&inbox->mutex);

    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "kind", "runtime");
    arcp__put_cstr(&writer, "version", runtime->version);
    arcp__put_bool(&writer, "stopping", runtime->is_stopping);
    arcp__put_u64(&writer, "links", links);
    arcp__put_u64(&writer, "links_resting", runtime->resting_count);
    arcp__put_u64(&writer, "agent_threads", inbox->thread_count);
    arcp__put_u64(&writer, "agent_calls_queued", calls_queued);
    arcp__put_u64(&writer, "agent_inbox_bytes", inbox_bytes);
    arcp__put_u64(&writer, "batches_committed", runtime->batches);
    arcp__put_u64(&writer, "batches_under_way", batches);
    if (batches != 0) {
        arcp__put_i64(&writer, "oldest_batch_ms", (now.mono_ns - oldest_ns) / ARCP_NS_PER_MS);
    }
    arcp__put_array(&writer, "waits_for");
    if (batches != 0) {
        arcp_json_write_cstr(&writer, "the store's commit");
    }
    if (calls_queued != 0) {
        arcp_json_write_cstr(&writer, "a thread for a blocking agent");
    }
    arcp_json_end_array(&writer);
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
}

arcp_status arcp_runtime_write_state(arcp_runtime *runtime, size_t lines_max, arcp_buf *out)
{
    const arcp_time now = arcp__clock_now();
    dump_runtime(runtime, now, out);
    arcp__worker_programs_dump(&runtime->programs, lines_max, out);
    for (arcp__shard *shard = runtime->shards; shard != arcp__engines_end(runtime); shard++) {
        arcp__engine_write_state(shard->engine, now, lines_max, out);
    }
    return arcp_buf_status(out);
}
