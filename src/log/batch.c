/* The log as a whole and its batches: what must be durable before it is shown.
 *
 * Everything that an input changes goes into the one open batch; effects that show the change carry
 * its id and wait. The owner takes the batch when the store can accept one; while it is being
 * written the next one fills (group commit). Spans of event records point into stream chunks, which
 * are kept until their batch is durable; everything else is copied into the batch's arena. */
#include "log/log_state.h"

#define OP_BYTES 32u /* of an operation, besides its key and value */

arcp__log *arcp__log_new(arcp__context *context, const arcp__log_options *options)
{
    arcp__log *log = arcp__alloc(sizeof *log);
    if (log != NULL) {
        log->context = context;
        log->options = *options;
    }
    return log;
}

void arcp__log_free(arcp__log *log)
{
    if (log == NULL) {
        return;
    }
    arcp__context_disarm(log->context, &log->retry_timer);
    arcp__effect_drop_all(log);
    arcp__batch *lists[] = {log->open_batch, log->batches, log->free_batches};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (arcp__batch *batch = lists[i], *next = NULL; batch != NULL; batch = next) {
            next = batch->next;
            arcp__arena_fini(&batch->arena);
            arcp__free(batch->ops);
            arcp__free(batch);
        }
    }
    arcp__streams_committed(log);
    arcp__free(log);
}

bool arcp__log_is_failing(const arcp__log *log)
{
    return log->failures != 0;
}

/* ---- the open batch ---- */

static arcp__batch *open_batch(arcp__log *log)
{
    arcp__batch *batch = log->open_batch;
    if (batch != NULL) {
        return batch;
    }
    batch = log->free_batches;
    if (batch != NULL) {
        LL_DELETE(log->free_batches, batch);
        batch->next = NULL;
    } else {
        batch = arcp__alloc(sizeof *batch);
        if (batch == NULL) {
            arcp__context_no_memory(log->context);
            return NULL;
        }
    }
    batch->store.id = ++log->next_batch_id;
    log->open_batch = batch;
    return batch;
}

void arcp__batch_add_borrowed(arcp__log *log, const arcp_store_op *op)
{
    arcp__batch *batch = open_batch(log);
    if (batch == NULL) {
        return;
    }
    arcp_store_op *ops =
        arcp__make_room(batch->ops, batch->store.count, &batch->op_capacity, sizeof *ops);
    if (ops == NULL) {
        arcp__context_no_memory(log->context);
        return;
    }
    const size_t bytes = op->key.size + op->value.size + OP_BYTES;
    ops[batch->store.count++] = *op;
    batch->store.ops = batch->ops = ops;
    batch->bytes += bytes;
    log->queue_bytes += bytes;
}

void arcp__batch_add(arcp__log *log, arcp_store_op op)
{
    arcp__batch *batch = open_batch(log);
    if (batch == NULL) {
        return;
    }
    op.key = arcp__arena_copy(&batch->arena, op.key);
    op.value = arcp__arena_copy(&batch->arena, op.value);
    if (op.key.data == NULL || op.value.data == NULL) {
        arcp__context_no_memory(log->context);
        return;
    }
    arcp__batch_add_borrowed(log, &op);
}

void arcp__batch_put(arcp__log *log, arcp_store_table table, arcp_span key, arcp_span value)
{
    if (log->options.keeps_rows) {
        arcp__batch_add(
            log,
            (arcp_store_op){.kind = ARCP_STORE_PUT, .table = table, .key = key, .value = value});
    }
}

void arcp__batch_delete(arcp__log *log, arcp_store_table table, arcp_span key)
{
    if (log->options.keeps_rows) {
        arcp__batch_add(log,
                        (arcp_store_op){.kind = ARCP_STORE_DELETE, .table = table, .key = key});
    }
}

void arcp__batch_touch(arcp__log *log)
{
    arcp__batch *batch = open_batch(log);
    if (batch != NULL) {
        batch->touches++;
    }
}

uint64_t arcp__batch_open_id(const arcp__log *log)
{
    if (log->open_batch != NULL) {
        return log->open_batch->store.id;
    }
    return log->next_batch_id;
}

size_t arcp__batch_pending(const arcp__log *log)
{
    const arcp__batch *batch = log->open_batch;
    return batch == NULL ? 0 : batch->store.count + batch->touches;
}

uint64_t arcp__batch_stamp(const arcp__log *log)
{
    return (log->next_batch_id << 32) + arcp__batch_pending(log);
}

void arcp__queued_add(const arcp__log *log, arcp__queued *queued, size_t bytes)
{
    const uint64_t open_id = arcp__batch_open_id(log);
    if (queued->open_id != open_id) {
        const size_t waiting = arcp__queued_bytes(log, queued);
        *queued =
            (arcp__queued){.open_id = open_id, .older_id = queued->open_id, .older_bytes = waiting};
    }
    queued->open_bytes += bytes;
}

size_t arcp__queued_bytes(const arcp__log *log, const arcp__queued *queued)
{
    const size_t older = queued->older_id > log->committed_id ? queued->older_bytes : 0;
    return older + (queued->open_id > log->committed_id ? queued->open_bytes : 0);
}

/* ---- taken batches ---- */

const arcp_store_batch *arcp__log_take(arcp__log *log)
{
    arcp__batch *batch = log->batches;
    if (arcp__log_is_failing(log)) {
        /* The same batches are written again, one at a time. */
        if (batch == NULL || batch->taken || log->retry_timer.place != 0) {
            return NULL;
        }
    } else {
        if (arcp__batch_pending(log) == 0) {
            return NULL;
        }
        batch = log->open_batch;
        log->open_batch = NULL;
        LL_APPEND(log->batches, batch);
    }
    batch->taken = true;
    batch->taken_ns = log->context->now.mono_ns;
    return &batch->store;
}

bool arcp__log_is_durable(const arcp__log *log)
{
    return log->batches == NULL && arcp__batch_pending(log) == 0;
}

/* Notes a failed attempt and plans the next one. True when it is the first. */
static bool fail(arcp__log *log)
{
    const bool begins = !arcp__log_is_failing(log);
    log->failures++;
    if (begins) {
        arcp__effect_log(
            log, ARCP__LOG_ERROR,
            "the store cannot be written: nothing new is shown to any peer until it can");
    }
    const unsigned shift = log->failures < 6 ? log->failures : 6;
    arcp__context_arm(log->context, &log->retry_timer, log->options.retry_timer, NULL,
                      arcp__context_after_ms(log->context, (uint64_t)100 << shift));
    return begins;
}

arcp__commit arcp__log_committed(arcp__log *log, uint64_t batch_id, arcp_status status)
{
    arcp__batch *batch = NULL;
    LL_SEARCH_SCALAR(log->batches, batch, store.id, batch_id);
    if (batch == NULL) {
        return ARCP__COMMIT_PENDING;
    }
    const bool is_oldest = batch == log->batches;
    const bool has_failed = status != ARCP_OK;
    batch->taken = false;
    if (has_failed || !is_oldest) {
        /* The batch is written again, and so is each one behind a failed one. One that the store
         * did not accept begins a failure while older ones are still being written; during a
         * failure only the oldest counts as another attempt. */
        const bool is_attempt = is_oldest || !arcp__log_is_failing(log);
        return has_failed && is_attempt && fail(log) ? ARCP__COMMIT_BEGAN_TO_FAIL
                                                     : ARCP__COMMIT_PENDING;
    }
    log->committed_id = batch_id;
    log->commit_ns = log->context->now.mono_ns - batch->taken_ns;
    log->queue_bytes -= batch->bytes;
    LL_DELETE(log->batches, batch);
    arcp__arena_reset(&batch->arena);
    batch->store.count = 0;
    batch->touches = 0;
    batch->bytes = 0;
    LL_PREPEND(log->free_batches, batch);
    arcp__streams_committed(log);
    if (arcp__log_is_failing(log) && log->batches == NULL) {
        log->failures = 0;
        arcp__effect_log(log, ARCP__LOG_WARN, "the store can be written again");
    }
    arcp__effects_release_committed(log);
    return ARCP__COMMIT_DONE;
}
