/* Batches: what must be durable before it is seen.
 *
 * Everything that an input changes goes into the one open batch; effects that show the
 * change carry its id and wait. The owner takes the batch when the store has room; while
 * it is being written the next one fills (group commit). Spans of event records point into
 * stream chunks, which are not forgotten before their batch is durable; everything else is
 * copied into the batch's arena. */
#include "engine/parts.h"

static arcp__batch *open_batch(arcp__engine *engine)
{
    if (engine->open_batch != NULL) {
        return engine->open_batch;
    }
    arcp__batch *batch = engine->batch_free;
    if (batch != NULL) {
        engine->batch_free = batch->next;
        batch->next = NULL;
    } else {
        batch = arcp__alloc(sizeof(*batch));
        if (batch == NULL) {
            arcp__context_no_memory(&engine->context);
            return NULL;
        }
    }
    batch->store.id = ++engine->next_batch_id;
    engine->open_batch = batch;
    return batch;
}

bool arcp__batch_reserve(arcp__engine *engine, size_t count)
{
    arcp__batch *batch = open_batch(engine);
    if (batch == NULL) {
        return false;
    }
    size_t need = batch->store.count + count;
    if (need > batch->op_capacity) {
        size_t capacity = batch->op_capacity == 0 ? 16 : batch->op_capacity * 2;
        capacity = capacity < need ? need : capacity;
        arcp_store_op *ops = arcp__realloc_array(batch->ops, capacity, sizeof(*ops));
        if (ops == NULL) {
            arcp__context_no_memory(&engine->context);
            return false;
        }
        batch->ops = ops;
        batch->op_capacity = capacity;
    }
    batch->store.ops = batch->ops;
    return true;
}

static arcp_store_op *add_op(arcp__engine *engine)
{
    if (!arcp__batch_reserve(engine, 1)) {
        return NULL;
    }
    return &engine->open_batch->ops[engine->open_batch->store.count++];
}

static void count_bytes(arcp__engine *engine, size_t bytes)
{
    engine->open_batch->bytes += bytes + 32;
    engine->queue_bytes += bytes + 32;
}

/* A copy in the batch's arena. */
static bool keep(arcp__engine *engine, arcp_span *bytes)
{
    arcp__batch *batch = open_batch(engine);
    if (batch == NULL) {
        return false;
    }
    if (bytes->size == 0) {
        *bytes = arcp_span_make(NULL, 0);
        return true;
    }
    *bytes = arcp__arena_copy(&batch->arena, *bytes);
    if (bytes->data == NULL) {
        arcp__context_no_memory(&engine->context);
    }
    return bytes->data != NULL;
}

void arcp__batch_append(arcp__engine *engine, const arcp__stream *stream, uint64_t position,
                        arcp_span record)
{
    arcp_store_op *op = add_op(engine);
    if (op != NULL) {
        *op = (arcp_store_op){.kind = ARCP_STORE_APPEND,
                              .position = position,
                              .key = arcp_span_cstr(stream->key),
                              .value = record};
        count_bytes(engine, record.size);
    }
}

static bool add_copied(arcp__engine *engine, arcp_store_op op)
{
    if (!keep(engine, &op.key) || !keep(engine, &op.value)) {
        return false;
    }
    arcp_store_op *slot = add_op(engine);
    if (slot == NULL) {
        return false;
    }
    *slot = op;
    count_bytes(engine, op.key.size + op.value.size);
    return true;
}

bool arcp__batch_append_key(arcp__engine *engine, arcp_span stream_key, uint64_t position,
                            arcp_span record)
{
    return add_copied(engine, (arcp_store_op){.kind = ARCP_STORE_APPEND,
                                              .position = position,
                                              .key = stream_key,
                                              .value = record});
}

bool arcp__batch_keeps_rows(const arcp__engine *engine)
{
    return engine->options.store_is_durable;
}

bool arcp__batch_put(arcp__engine *engine, arcp_store_table table, arcp_span key, arcp_span value)
{
    if (!arcp__batch_keeps_rows(engine)) {
        return true;
    }
    return add_copied(
        engine,
        (arcp_store_op){.kind = ARCP_STORE_PUT, .table = table, .key = key, .value = value});
}

bool arcp__batch_delete(arcp__engine *engine, arcp_store_table table, arcp_span key)
{
    return !arcp__batch_keeps_rows(engine) ||
           add_copied(engine,
                      (arcp_store_op){.kind = ARCP_STORE_DELETE, .table = table, .key = key});
}

void arcp__batch_trim(arcp__engine *engine, arcp_span stream_key, uint64_t position)
{
    (void)add_copied(
        engine, (arcp_store_op){.kind = ARCP_STORE_TRIM, .position = position, .key = stream_key});
}

void arcp__batch_drop(arcp__engine *engine, arcp_span stream_key)
{
    (void)add_copied(engine, (arcp_store_op){.kind = ARCP_STORE_DROP, .key = stream_key});
}

bool arcp__batch_mark_session(arcp__engine *engine, arcp__session *session)
{
    if (session->in_dirty) {
        return true;
    }
    arcp__batch *batch = open_batch(engine);
    if (batch == NULL) {
        return false;
    }
    if (batch->dirty_count == batch->dirty_capacity) {
        size_t capacity = batch->dirty_capacity == 0 ? 8 : batch->dirty_capacity * 2;
        arcp__session **dirty = arcp__realloc_array(batch->dirty, capacity, sizeof(*dirty));
        if (dirty == NULL) {
            arcp__context_no_memory(&engine->context);
            return false;
        }
        batch->dirty = dirty;
        batch->dirty_capacity = capacity;
    }
    batch->dirty[batch->dirty_count++] = session;
    session->in_dirty = true;
    arcp__session_pin(session);
    return true;
}

uint64_t arcp__batch_open_id(arcp__engine *engine)
{
    if (engine->open_batch != NULL) {
        return engine->open_batch->store.id;
    }
    return engine->next_batch_id;
}

bool arcp__batch_has_work(const arcp__engine *engine)
{
    return engine->open_batch != NULL &&
           (engine->open_batch->store.count != 0 || engine->open_batch->dirty_count != 0);
}

size_t arcp__engine_gathered(const arcp__engine *engine)
{
    const arcp__batch *batch = engine->open_batch;
    return batch == NULL ? 0 : batch->store.count + batch->dirty_count;
}

/* The numbers that sessions gave since the last batch become index records of this one;
 * when it is durable, so are they. */
static bool seal(arcp__engine *engine, arcp__batch *batch)
{
    if (batch->dirty_count > batch->mark_capacity) {
        arcp__durable_mark *marks =
            arcp__realloc_array(batch->marks, batch->dirty_count, sizeof(*marks));
        if (marks == NULL) {
            arcp__context_owe(&engine->context);
            return false;
        }
        batch->marks = marks;
        batch->mark_capacity = batch->dirty_count;
    }
    /* What is missing of an index goes with a later batch, and is not durable before. */
    size_t done = 0;
    while (done < batch->dirty_count &&
           (batch->dirty[done]->ended || arcp__session_write_index(engine, batch->dirty[done]))) {
        arcp__session *session = batch->dirty[done];
        session->in_dirty = false;
        batch->marks[done++] = (arcp__durable_mark){session, session->next_seq - 1};
    }
    for (size_t at = done; at < batch->dirty_count; at++) {
        /* Its durable numbers stay what they are. */
        batch->marks[at] = (arcp__durable_mark){batch->dirty[at], batch->dirty[at]->indexed_seq};
        batch->dirty[at]->in_dirty = false;
        arcp__context_owe(&engine->context);
    }
    batch->mark_count = batch->dirty_count;
    batch->dirty_count = 0;
    return true;
}

static const arcp_store_batch *take_batch(arcp__engine *engine)
{
    if (engine->store_failing) {
        /* After a failure the same batches go again, one at a time, when the pause is over. */
        arcp__batch *again = engine->batches;
        if (again == NULL || again->taken || engine->store_retry_timer.place != 0) {
            return NULL;
        }
        again->taken = true;
        return &again->store;
    }
    if (!arcp__engine_is_restored(engine)) {
        return NULL; /* half of a restart is not to be kept */
    }
    arcp__batch *batch = engine->open_batch;
    if (batch == NULL || !arcp__batch_has_work(engine)) {
        return NULL;
    }
    if (!arcp__jobs_store_due(engine) || !arcp__budgets_store(engine) || !seal(engine, batch)) {
        return NULL;
    }
    engine->open_batch = NULL;
    batch->taken = true;
    batch->next = NULL;
    if (engine->batches_last == NULL) {
        engine->batches = batch;
    } else {
        engine->batches_last->next = batch;
    }
    engine->batches_last = batch;
    return &batch->store;
}

const arcp_store_batch *arcp__engine_take_batch(arcp__engine *engine)
{
    const arcp_store_batch *batch = take_batch(engine);
    if (engine->context.out_of_memory) {
        /* It is made good, and not to be charged to whoever says something next. */
        engine->context.out_of_memory = false;
        arcp__context_owe(&engine->context);
    }
    return batch;
}

static void recycle(arcp__engine *engine, arcp__batch *batch)
{
    arcp__arena_reset(&batch->arena);
    batch->store.count = 0;
    batch->mark_count = 0;
    batch->bytes = 0;
    batch->taken = false;
    batch->next = engine->batch_free;
    engine->batch_free = batch;
}

static void finish(arcp__engine *engine, arcp__batch *batch)
{
    engine->committed_id = batch->store.id;
    engine->queue_bytes -= batch->bytes;
    for (size_t at = 0; at < batch->mark_count; at++) {
        arcp__session *session = batch->marks[at].session;
        session->durable_seq = batch->marks[at].seq;
        if (!session->ended) {
            arcp__session_wake(engine, session);
        }
        arcp__session_unpin(session);
    }
    recycle(engine, batch);
    arcp__stream_reap(engine);
    arcp__stream_trim_tails(engine);
}

/* True when the store has begun to fail with it. */
static bool fail(arcp__engine *engine, arcp__batch *batch)
{
    const bool begins = !engine->store_failing;
    batch->taken = false;
    engine->store_failures++;
    if (begins) {
        engine->store_failing = true;
        arcp__effect_log(engine, ARCP__LOG_ERROR,
                         "the store cannot write: nothing new is shown to any peer until it can");
    }
    unsigned shift = engine->store_failures < 6 ? engine->store_failures : 6;
    arcp__context_arm(&engine->context, &engine->store_retry_timer, ARCP__TIMER_STORE_RETRY, engine,
                      arcp__context_after_ms(&engine->context, (uint64_t)100 << shift));
    return begins;
}

/* A batch behind one that failed was not written either, and goes again. One that the store
 * did not even take fails while those before it are still on their way. */
static bool fail_later(arcp__engine *engine, uint64_t batch_id, arcp_status status)
{
    bool begins = false;
    for (arcp__batch *at = engine->batches; at != NULL; at = at->next) {
        if (at->store.id != batch_id) {
            continue;
        }
        if (status != ARCP_OK && !engine->store_failing) {
            begins = fail(engine, at);
        }
        at->taken = false;
    }
    return begins;
}

arcp__commit arcp__batch_committed(arcp__engine *engine, uint64_t batch_id, arcp_status status)
{
    arcp__batch *batch = engine->batches;
    if (batch == NULL || batch->store.id != batch_id) {
        return fail_later(engine, batch_id, status) ? ARCP__COMMIT_BEGAN_TO_FAIL
                                                    : ARCP__COMMIT_PENDING;
    }
    if (status != ARCP_OK) {
        return fail(engine, batch) ? ARCP__COMMIT_BEGAN_TO_FAIL : ARCP__COMMIT_PENDING;
    }
    engine->batches = batch->next;
    if (engine->batches == NULL) {
        engine->batches_last = NULL;
    }
    finish(engine, batch);
    if (engine->store_failing && engine->batches == NULL) {
        engine->store_failing = false;
        engine->store_failures = 0;
        arcp__effect_log(engine, ARCP__LOG_WARN, "the store can write again");
    }
    arcp__effect_release(engine);
    return ARCP__COMMIT_DONE;
}

static void batch_free(arcp__batch *batch)
{
    for (size_t at = 0; at < batch->mark_count; at++) {
        arcp__session_unpin(batch->marks[at].session);
    }
    for (size_t at = 0; at < batch->dirty_count; at++) {
        arcp__session_unpin(batch->dirty[at]);
    }
    arcp__arena_fini(&batch->arena);
    arcp__free(batch->ops);
    arcp__free(batch->marks);
    arcp__free(batch->dirty);
    arcp__free(batch);
}

void arcp__batch_free_all(arcp__engine *engine)
{
    arcp__batch *lists[] = {engine->open_batch, engine->batches, engine->batch_free};
    engine->open_batch = engine->batches = engine->batches_last = engine->batch_free = NULL;
    for (size_t list = 0; list < 3; list++) {
        for (arcp__batch *batch = lists[list], *next = NULL; batch != NULL; batch = next) {
            next = batch->next;
            batch_free(batch);
        }
    }
}
