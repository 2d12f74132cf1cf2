#include "log/log_state.h"
#include "json/json_put.h"

static void dump_batch(const arcp__log *log, const arcp__batch *batch, arcp__dump *dump)
{
    arcp_json_writer writer;
    const bool is_open = batch == log->open_batch;
    if ((is_open && arcp__batch_pending(log) == 0) ||
        !arcp__dump_begin(dump, ARCP__DUMP_BATCH, &writer)) {
        return;
    }
    arcp__put_u64(&writer, "id", batch->store.id);
    arcp__put_cstr(&writer, "state",
                   is_open ? "open" : (batch->taken ? "submitted" : "to_be_written_again"));
    arcp__put_u64(&writer, "operations", batch->store.count);
    arcp__put_u64(&writer, "bytes", batch->bytes);
    arcp__dump_begin_waits(&writer);
    if (batch->taken) {
        arcp__dump_wait(&writer, "the store's commit");
    } else if (arcp__log_is_failing(log)) {
        arcp__dump_wait(&writer, "the store, which cannot write: it is tried again after a pause");
    } else if (log->batches != NULL) {
        arcp__dump_wait(&writer, "the commit of an earlier batch");
    }
    arcp__dump_end(dump, &writer);
}

void arcp__log_dump(const arcp__log *log, arcp__dump *dump)
{
    arcp_json_writer writer;
    const struct {
        const char *name;
        const arcp__pending_effect *first;
    } queues[] = {{"lines", log->lines}, {"ready", log->ready}, {"waiting", log->waiting}};
    uint64_t reads = 0;
    for (const arcp__read *read = log->reads; read != NULL; read = read->next) {
        reads++;
    }
    if (arcp__dump_begin(dump, ARCP__DUMP_LOG, &writer)) {
        arcp__put_u64(&writer, "committed_batch", log->committed_id);
        arcp__put_u64(&writer, "queue_bytes", log->queue_bytes);
        arcp__put_u64(&writer, "tail_bytes", log->tail_bytes);
        arcp__put_u64(&writer, "failures", log->failures);
        arcp__put_bool(&writer, "audit_failing", log->audit_failing);
        arcp__put_u64(&writer, "reads", reads);
        arcp__put_object(&writer, "effects");
        for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
            uint64_t count = 0;
            for (const arcp__pending_effect *pending = queues[i].first; pending != NULL;
                 pending = pending->next) {
                count++;
            }
            arcp__put_u64(&writer, queues[i].name, count);
        }
        arcp_json_end_object(&writer);
        arcp__dump_timer(dump, &writer, "retry_in_ms", &log->retry_timer);
        arcp__dump_begin_waits(&writer);
        if (reads != 0) {
            arcp__dump_wait(&writer, "pages from the store");
        }
        if (log->waiting != NULL) {
            arcp__dump_wait(&writer, "store batch %llu",
                            (unsigned long long)log->waiting->batch_id);
        }
        arcp__dump_end(dump, &writer);
    }
    for (const arcp__batch *batch = log->batches; batch != NULL; batch = batch->next) {
        dump_batch(log, batch, dump);
    }
    if (log->open_batch != NULL) {
        dump_batch(log, log->open_batch, dump);
    }
}

void arcp__port_dump_wait(const arcp__port *port, arcp_json_writer *writer)
{
    const arcp__pending_effect *pending = port->waiting;
    while (pending != NULL && pending->batch_id == 0) {
        pending = pending->own_next;
    }
    if (pending != NULL) {
        arcp__dump_wait(writer, "store batch %llu", (unsigned long long)pending->batch_id);
    }
}
