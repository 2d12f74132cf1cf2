/* Batches: what must be durable before it is seen.
 *
 * Everything that an input changes goes into the one open batch; effects that show the
 * change carry its id and wait. The owner takes the batch when the store has room; while
 * it is being written the next one fills (group commit). Spans of event records point into
 * stream chunks, which are not forgotten before their batch is durable; everything else is
 * copied into the batch's arena. */
#include "log/log_state.h"

static arcp__batch *open_batch(arcp__log *log)
{
    if (log->open_batch != NULL) {
        return log->open_batch;
    }
    arcp__batch *batch = log->batch_free;
    if (batch != NULL) {
        log->batch_free = batch->next;
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

/* A place for one more operation; NULL when out of memory. */
static arcp_store_op *add_op(arcp__log *log)
{
    arcp__batch *batch = open_batch(log);
    if (batch == NULL) {
        return NULL;
    }
    if (batch->store.count == batch->op_capacity) {
        size_t capacity = batch->op_capacity == 0 ? 16 : batch->op_capacity * 2;
        arcp_store_op *ops = arcp__realloc_array(batch->ops, capacity, sizeof *ops);
        if (ops == NULL) {
            arcp__context_no_memory(log->context);
            return NULL;
        }
        batch->store.ops = batch->ops = ops;
        batch->op_capacity = capacity;
    }
    return &batch->ops[batch->store.count++];
}

static void count_bytes(arcp__log *log, size_t bytes)
{
    log->open_batch->bytes += bytes + 32;
    log->queue_bytes += bytes + 32;
}

void arcp__batch_append(arcp__log *log, const arcp__stream *stream, uint64_t position,
                        arcp_span record)
{
    arcp_store_op *op = add_op(log);
    if (op != NULL) {
        *op = (arcp_store_op){.kind = ARCP_STORE_APPEND,
                              .position = position,
                              .key = arcp_span_cstr(stream->key),
                              .value = record};
        count_bytes(log, record.size);
    }
}

/* A copy in the batch's arena. */
static arcp_span keep(arcp__log *log, arcp_span bytes)
{
    if (bytes.size == 0) {
        return arcp_span_make(NULL, 0);
    }
    const arcp_span copy = arcp__arena_copy(&log->open_batch->arena, bytes);
    if (copy.data == NULL) {
        arcp__context_no_memory(log->context);
    }
    return copy;
}

static void add_copied(arcp__log *log, arcp_store_op op)
{
    arcp_store_op *slot = add_op(log);
    if (slot != NULL) {
        op.key = keep(log, op.key);
        op.value = keep(log, op.value);
        *slot = op;
        count_bytes(log, op.key.size + op.value.size);
    }
}

void arcp__batch_append_key(arcp__log *log, arcp_span stream_key, uint64_t position,
                            arcp_span record)
{
    add_copied(log, (arcp_store_op){.kind = ARCP_STORE_APPEND,
                                    .position = position,
                                    .key = stream_key,
                                    .value = record});
}

bool arcp__batch_keeps_rows(const arcp__log *log)
{
    return log->options.keeps_rows;
}

void arcp__batch_put(arcp__log *log, arcp_store_table table, arcp_span key, arcp_span value)
{
    if (arcp__batch_keeps_rows(log)) {
        add_copied(log, (arcp_store_op){
                            .kind = ARCP_STORE_PUT, .table = table, .key = key, .value = value});
    }
}

void arcp__batch_delete(arcp__log *log, arcp_store_table table, arcp_span key)
{
    if (arcp__batch_keeps_rows(log)) {
        add_copied(log, (arcp_store_op){.kind = ARCP_STORE_DELETE, .table = table, .key = key});
    }
}

void arcp__batch_trim(arcp__log *log, arcp_span stream_key, uint64_t position)
{
    add_copied(log,
               (arcp_store_op){.kind = ARCP_STORE_TRIM, .position = position, .key = stream_key});
}

void arcp__batch_drop(arcp__log *log, arcp_span stream_key)
{
    add_copied(log, (arcp_store_op){.kind = ARCP_STORE_DROP, .key = stream_key});
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

size_t arcp__batch_gathered(const arcp__log *log)
{
    const arcp__batch *batch = log->open_batch;
    return batch == NULL ? 0 : batch->store.count + batch->touches;
}

/* After a failure the same batches go again, one at a time, when the pause is over. */
static arcp__batch *take_again(arcp__log *log)
{
    return log->batches == NULL || log->batches->taken || log->retry_timer.place != 0
               ? NULL
               : log->batches;
}

static arcp__batch *take_open(arcp__log *log)
{
    arcp__batch *batch = log->open_batch;
    if (arcp__batch_gathered(log) == 0) {
        return NULL;
    }
    log->open_batch = NULL;
    LL_APPEND(log->batches, batch);
    return batch;
}

const arcp_store_batch *arcp__log_take(arcp__log *log)
{
    arcp__batch *batch = arcp__log_is_failing(log) ? take_again(log) : take_open(log);
    if (batch == NULL) {
        return NULL;
    }
    batch->taken = true;
    return &batch->store;
}

bool arcp__log_is_durable(const arcp__log *log)
{
    return log->batches == NULL && arcp__batch_gathered(log) == 0;
}

static void recycle(arcp__log *log, arcp__batch *batch)
{
    arcp__arena_reset(&batch->arena);
    batch->store.count = 0;
    batch->touches = 0;
    batch->bytes = 0;
    batch->taken = false;
    LL_PREPEND(log->batch_free, batch);
}

static void finish(arcp__log *log, arcp__batch *batch)
{
    log->committed_id = batch->store.id;
    log->queue_bytes -= batch->bytes;
    recycle(log, batch);
    arcp__streams_reap(log);
    arcp__streams_trim(log);
}

/* True when the store has begun to fail with it. */
static bool fail(arcp__log *log, arcp__batch *batch)
{
    const bool begins = !arcp__log_is_failing(log);
    batch->taken = false;
    log->failures++;
    if (begins) {
        arcp__effect_log(log, ARCP__LOG_ERROR,
                         "the store cannot write: nothing new is shown to any peer until it can");
    }
    unsigned shift = log->failures < 6 ? log->failures : 6;
    arcp__context_arm(log->context, &log->retry_timer, log->options.retry_timer, NULL,
                      arcp__context_after_ms(log->context, (uint64_t)100 << shift));
    return begins;
}

/* A batch behind one that failed was not written either, and goes again. One that the store
 * did not even take fails while those before it are still on their way. */
static bool fail_later(arcp__log *log, uint64_t batch_id, arcp_status status)
{
    bool begins = false;
    for (arcp__batch *at = log->batches; at != NULL; at = at->next) {
        if (at->store.id != batch_id) {
            continue;
        }
        if (status != ARCP_OK && !arcp__log_is_failing(log)) {
            begins = fail(log, at);
        }
        at->taken = false;
    }
    return begins;
}

arcp__commit arcp__log_committed(arcp__log *log, uint64_t batch_id, arcp_status status)
{
    arcp__batch *batch = log->batches;
    if (batch == NULL || batch->store.id != batch_id) {
        return fail_later(log, batch_id, status) ? ARCP__COMMIT_BEGAN_TO_FAIL
                                                 : ARCP__COMMIT_PENDING;
    }
    if (status != ARCP_OK) {
        return fail(log, batch) ? ARCP__COMMIT_BEGAN_TO_FAIL : ARCP__COMMIT_PENDING;
    }
    log->batches = batch->next;
    finish(log, batch);
    if (arcp__log_is_failing(log) && log->batches == NULL) {
        log->failures = 0;
        arcp__effect_log(log, ARCP__LOG_WARN, "the store can write again");
    }
    arcp__effects_release_committed(log);
    return ARCP__COMMIT_DONE;
}

static void batch_free(arcp__batch *batch)
{
    arcp__arena_fini(&batch->arena);
    arcp__free(batch->ops);
    arcp__free(batch);
}

void arcp__batches_free(arcp__log *log)
{
    arcp__batch *lists[] = {log->open_batch, log->batches, log->batch_free};
    for (size_t i = 0; i < 3; i++) {
        for (arcp__batch *batch = lists[i], *next = NULL; batch != NULL; batch = next) {
            next = batch->next;
            batch_free(batch);
        }
    }
}
