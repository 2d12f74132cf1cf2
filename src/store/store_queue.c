#include "store/store_queue.h"

#include <assert.h>

#include "base/clock.h"
#include "base/options.h"

#define DELIVERED_PER_POLL 1024
#define READ_BYTES_MAX     16777216u /* of one read; larger requests are reduced to it */

static const char *const table_names[] = {
#define ARCP_STORE_TABLE(name, number, text) [ARCP_STORE_##name] = (text),
#include <arcp/sys/store_table.def>
#undef ARCP_STORE_TABLE
};

const char *arcp_store_table_name(arcp_store_table table)
{
    return (size_t)table < (size_t)ARCP_STORE_TABLE_COUNT ? table_names[table] : NULL;
}

/* ---- checks for all stores ---- */

arcp_status arcp__store_position_error(const arcp_store_op *op, uint64_t next, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "stream \"%.*s\": append at position %llu, but the next position is %llu",
                          (int)arcp_span_first(op->key, 128).size, op->key.data,
                          (unsigned long long)op->position, (unsigned long long)next);
}

static arcp_status check_key(arcp_span key, arcp_error *err)
{
    if (key.size == 0 || key.data == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "a key is empty");
    }
    if (key.size > ARCP_STORE_KEY_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "a key has %zu bytes, more than %u", key.size,
                              ARCP_STORE_KEY_BYTES_MAX);
    }
    return ARCP_OK;
}

static arcp_status check_table(arcp_store_table table, arcp_error *err)
{
    if (arcp_store_table_name(table) == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "unknown table %d", (int)table);
    }
    return ARCP_OK;
}

/* Checks an operation, and adds the size of its key and value to `bytes`. All of them are in
 * memory, so the sum cannot overflow. */
static arcp_status check_op(const arcp_store_op *op, size_t *bytes, arcp_error *err)
{
    const bool is_row = arcp__store_is_of_row(op);
    arcp_status status = check_key(op->key, err);
    if (status == ARCP_OK && is_row) {
        status = check_table(op->table, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    *bytes += op->key.size;
    if (op->kind == ARCP_STORE_TRIM || op->kind == ARCP_STORE_DROP ||
        op->kind == ARCP_STORE_DELETE) {
        return ARCP_OK;
    }
    if (op->kind != ARCP_STORE_APPEND && op->kind != ARCP_STORE_PUT) {
        return arcp_error_set(err, ARCP_E_USAGE, "unknown operation %d", (int)op->kind);
    }
    if (!is_row && op->position > ARCP_STORE_POSITION_MAX) {
        return arcp_error_set(err, ARCP_E_LIMIT, "position %llu is beyond the greatest, %llu",
                              (unsigned long long)op->position,
                              (unsigned long long)ARCP_STORE_POSITION_MAX);
    }
    if (op->value.size > ARCP_STORE_VALUE_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_LIMIT, "a value has %zu bytes, more than %u",
                              op->value.size, ARCP_STORE_VALUE_BYTES_MAX);
    }
    /* Records are separated by line feeds on disk, so a record must not contain one. */
    if (op->value.size != 0 && memchr(op->value.data, '\n', op->value.size) != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "a value contains a line feed");
    }
    *bytes += op->value.size;
    return ARCP_OK;
}

/* ---- requests ---- */

arcp__request *arcp__request_new(arcp__request_kind kind, uint64_t id, arcp_span key)
{
    arcp__request *request = arcp__alloc(sizeof *request + key.size);
    if (request != NULL) {
        request->kind = kind;
        request->id = id;
        request->is_last = kind != ARCP__REQUEST_SCAN;
        request->key_size = key.size;
        if (key.size != 0) {
            memcpy(request->key, key.data, key.size);
        }
    }
    return request;
}

void arcp__request_free(arcp__request *request)
{
    if (request != NULL) {
        arcp__free(request->records);
        arcp__free(request->rows);
        arcp__arena_fini(&request->arena);
        arcp__free(request);
    }
}

bool arcp__request_add(arcp__request *read, uint64_t position, arcp_span record)
{
    if (read->answer_count == read->count_max ||
        (read->answer_count != 0 && record.size > read->bytes_max)) {
        read->is_full = true;
        return true;
    }
    if (read->answer_count == read->capacity) {
        const size_t capacity = read->capacity == 0 ? 64 : read->capacity * 2;
        arcp_span *records = arcp__realloc_array(read->records, capacity, sizeof *records);
        if (records == NULL) {
            return false;
        }
        read->records = records;
        read->capacity = capacity;
    }
    read->first = read->answer_count == 0 ? position : read->first;
    read->records[read->answer_count++] = record;
    read->bytes_max -= record.size < read->bytes_max ? record.size : read->bytes_max;
    return true;
}

/* ---- the owner's thread ---- */

void arcp__queue_init(arcp__store_queue *queue)
{
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->batches_changed, NULL);
    pthread_cond_init(&queue->reads_changed, NULL);
    pthread_cond_init(&queue->answers_changed, NULL);
}

void arcp__queue_fini(arcp__store_queue *queue)
{
    assert(queue->batches == NULL && queue->reads == NULL);
    assert(queue->answers == NULL && queue->ready == NULL);
    pthread_cond_destroy(&queue->answers_changed);
    pthread_cond_destroy(&queue->reads_changed);
    pthread_cond_destroy(&queue->batches_changed);
    pthread_mutex_destroy(&queue->mutex);
}

static arcp__store_queue *from_base(arcp_store *base)
{
    return (arcp__store_queue *)base;
}

/* A store without threads needs no lock. */
static void lock(arcp__store_queue *queue)
{
    if (queue->serve == NULL) {
        pthread_mutex_lock(&queue->mutex);
    }
}

static void unlock(arcp__store_queue *queue)
{
    if (queue->serve == NULL) {
        pthread_mutex_unlock(&queue->mutex);
    }
}

void arcp__queue_set_callbacks(arcp_store *base, const arcp_store_callbacks *callbacks)
{
    from_base(base)->callbacks = *callbacks;
}

void arcp__queue_stats(arcp_store *base, uint64_t bytes, arcp_store_stats *out)
{
    arcp__store_queue *queue = from_base(base);
    pthread_mutex_lock(&queue->mutex);
    arcp_store_stats stats = queue->stats;
    pthread_mutex_unlock(&queue->mutex);
    stats.bytes = bytes;
    arcp__options_give(out, &stats, sizeof stats);
}

/* Marks the owner as woken. True if the caller must wake it, without holding the mutex. */
static bool mark_woken(arcp__store_queue *queue)
{
    return !atomic_exchange(&queue->is_woken, true) && queue->callbacks.wake != NULL;
}

static void unlock_and_wake(arcp__store_queue *queue)
{
    const bool must_wake = mark_woken(queue);
    pthread_cond_signal(&queue->answers_changed);
    pthread_mutex_unlock(&queue->mutex);
    if (must_wake) {
        queue->callbacks.wake(queue->callbacks.user);
    }
}

/* Takes ownership of the request; NULL: its allocation failed. */
static arcp_status enqueue(arcp__store_queue *queue, arcp__request *request, arcp_error *err)
{
    if (request == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a store request");
    }
    if (queue->is_closing) {
        arcp__request_free(request);
        return arcp_error_set(err, ARCP_E_CLOSED, "the store is closing");
    }
    request->epoch = queue->epoch;
    if (queue->serve != NULL) { /* a store without threads */
        queue->outstanding++;
        DL_APPEND(queue->answers, request);
        if (mark_woken(queue)) {
            queue->callbacks.wake(queue->callbacks.user);
        }
        return ARCP_OK;
    }
    pthread_mutex_lock(&queue->mutex);
    queue->outstanding++;
    if (request->kind == ARCP__REQUEST_BATCH) {
        request->sequence = ++queue->submitted;
        DL_APPEND(queue->batches, request);
        pthread_cond_signal(&queue->batches_changed);
    } else {
        request->sequence = queue->submitted;
        DL_APPEND(queue->reads, request);
        pthread_cond_signal(&queue->reads_changed);
    }
    pthread_mutex_unlock(&queue->mutex);
    return ARCP_OK;
}

arcp_status arcp__queue_submit(arcp_store *base, const arcp_store_batch *batch, arcp_error *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const arcp_status status = check_op(&batch->ops[i], &bytes, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    arcp__request *request =
        arcp__request_new(ARCP__REQUEST_BATCH, batch->id, arcp_span_make(NULL, 0));
    if (request != NULL) {
        request->ops = batch->ops;
        request->count = batch->count;
        request->bytes = bytes;
    }
    return enqueue(from_base(base), request, err);
}

arcp_status arcp__queue_read(arcp_store *base, uint64_t read_id, arcp_span stream, uint64_t from,
                             size_t count_max, size_t bytes_max, arcp_error *err)
{
    if (count_max == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "a read must request at least one record");
    }
    const arcp_status status = check_key(stream, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__request *request = arcp__request_new(ARCP__REQUEST_READ, read_id, stream);
    if (request != NULL) {
        request->from = from;
        request->count_max = count_max;
        request->bytes_max = bytes_max < READ_BYTES_MAX ? bytes_max : READ_BYTES_MAX;
    }
    return enqueue(from_base(base), request, err);
}

arcp_status arcp__queue_scan(arcp_store *base, uint64_t read_id, arcp_store_table table,
                             arcp_span prefix, arcp_error *err)
{
    const arcp_status status = check_table(table, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (prefix.size > ARCP_STORE_KEY_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "a prefix has %zu bytes, more than %u",
                              prefix.size, ARCP_STORE_KEY_BYTES_MAX);
    }
    arcp__request *request = arcp__request_new(ARCP__REQUEST_SCAN, read_id, prefix);
    if (request != NULL) {
        request->table = table;
    }
    return enqueue(from_base(base), request, err);
}

static void deliver(arcp__store_queue *queue, const arcp__request *answer)
{
    const arcp_store_callbacks *callbacks = &queue->callbacks;
    const arcp_status status = answer->error.status;
    const arcp_error *err = status == ARCP_OK ? NULL : &answer->error;
    switch (answer->kind) {
    case ARCP__REQUEST_BATCH:
        if (status != ARCP_OK && answer->epoch == queue->epoch) {
            /* The owner now knows of the failure, so batches that it submits from now on are tried
             * again. */
            queue->epoch++;
        }
        callbacks->done(callbacks->user, answer->id, status, err);
        return;
    case ARCP__REQUEST_READ:
        callbacks->read(callbacks->user, answer->id, status, answer->first, answer->records,
                        answer->answer_count, err);
        return;
    case ARCP__REQUEST_SCAN:
        break;
    }
    size_t i = 0;
    for (; answer->answer_count - i > ARCP_STORE_SCAN_ROWS_MAX; i += ARCP_STORE_SCAN_ROWS_MAX) {
        callbacks->scan(callbacks->user, answer->id, status, answer->rows + i,
                        ARCP_STORE_SCAN_ROWS_MAX, false, err);
    }
    callbacks->scan(callbacks->user, answer->id, status, answer->rows + i, answer->answer_count - i,
                    answer->is_last, err);
}

bool arcp__queue_poll(arcp_store *base)
{
    arcp__store_queue *queue = from_base(base);
    assert(!queue->is_polling);
    if (queue->ready == NULL) {
        if (!atomic_load(&queue->is_woken)) {
            return false; /* nothing was answered since the last call */
        }
        lock(queue);
        atomic_store(&queue->is_woken, false);
        queue->ready = queue->answers;
        queue->answers = NULL;
        unlock(queue);
    }
    queue->is_polling = true;
    uint64_t ended = 0;
    size_t bytes = 0;
    for (int count = 0; count < DELIVERED_PER_POLL && queue->ready != NULL; count++) {
        arcp__request *answer = queue->ready;
        DL_DELETE(queue->ready, answer);
        if (queue->serve != NULL) {
            queue->serve(queue, answer);
        }
        deliver(queue, answer);
        ended += answer->is_last;
        bytes += answer->held;
        arcp__request_free(answer);
    }
    queue->is_polling = false;
    lock(queue);
    queue->outstanding -= ended;
    queue->undelivered -= bytes;
    const bool has_more = queue->answers != NULL;
    if (bytes != 0) {
        pthread_cond_signal(&queue->reads_changed);
    }
    unlock(queue);
    return has_more || queue->ready != NULL;
}

void arcp__queue_close(arcp__store_queue *queue)
{
    queue->is_closing = true;
    for (bool is_done = false; !is_done;) {
        while (arcp__queue_poll(&queue->base)) {
        }
        pthread_mutex_lock(&queue->mutex);
        while (queue->outstanding != 0 && queue->answers == NULL) {
            pthread_cond_wait(&queue->answers_changed, &queue->mutex);
        }
        is_done = queue->outstanding == 0;
        queue->is_stopping = is_done;
        if (is_done) {
            pthread_cond_broadcast(&queue->batches_changed);
            pthread_cond_broadcast(&queue->reads_changed);
        }
        pthread_mutex_unlock(&queue->mutex);
    }
}

/* ---- the writer's thread ---- */

bool arcp__queue_take_batches(arcp__store_queue *queue, bool may_wait, size_t bytes_max,
                              arcp__request **out)
{
    pthread_mutex_lock(&queue->mutex);
    while (may_wait && queue->batches == NULL && !queue->is_stopping) {
        pthread_cond_wait(&queue->batches_changed, &queue->mutex);
    }
    size_t bytes = 0;
    while (queue->batches != NULL && bytes <= bytes_max) {
        arcp__request *batch = queue->batches;
        bytes += batch->bytes;
        DL_DELETE(queue->batches, batch);
        DL_APPEND(*out, batch);
    }
    const bool goes_on = !queue->is_stopping;
    pthread_mutex_unlock(&queue->mutex);
    return goes_on;
}

void arcp__queue_answer_batches(arcp__store_queue *queue, arcp__request *batches)
{
    const uint64_t sequence = batches->prev->sequence; /* of the last one */
    pthread_mutex_lock(&queue->mutex);
    assert(batches->sequence == queue->answered + 1);
    queue->answered = sequence;
    DL_CONCAT(queue->answers, batches);
    if (queue->reads != NULL) {
        pthread_cond_signal(&queue->reads_changed);
    }
    unlock_and_wake(queue);
}

void arcp__queue_count_commit(arcp__store_queue *queue, uint64_t batches, uint64_t ops,
                              int64_t began_ns)
{
    const uint64_t took_ns = (uint64_t)(arcp__clock_ns(CLOCK_MONOTONIC) - began_ns);
    pthread_mutex_lock(&queue->mutex);
    arcp_store_stats *stats = &queue->stats;
    stats->batches += batches;
    stats->ops += ops;
    stats->commits++;
    stats->commit_ns_total += took_ns;
    stats->commit_ns_max = took_ns > stats->commit_ns_max ? took_ns : stats->commit_ns_max;
    pthread_mutex_unlock(&queue->mutex);
}

/* ---- the reader's thread ---- */

arcp__request *arcp__queue_take_read(arcp__store_queue *queue, bool may_wait)
{
    pthread_mutex_lock(&queue->mutex);
    bool is_there = queue->reads != NULL && queue->reads->sequence <= queue->answered;
    while (may_wait && !is_there && !queue->is_stopping) {
        pthread_cond_wait(&queue->reads_changed, &queue->mutex);
        is_there = queue->reads != NULL && queue->reads->sequence <= queue->answered;
    }
    arcp__request *request = is_there ? queue->reads : NULL;
    if (request != NULL) {
        DL_DELETE(queue->reads, request);
    }
    pthread_mutex_unlock(&queue->mutex);
    return request;
}

void arcp__queue_answer_read(arcp__store_queue *queue, arcp__request *answer)
{
    const size_t entry =
        answer->kind == ARCP__REQUEST_READ ? sizeof(arcp_span) : sizeof(arcp_store_row);
    answer->held = answer->arena.used + answer->answer_count * entry;
    pthread_mutex_lock(&queue->mutex);
    queue->undelivered += answer->held;
    DL_APPEND(queue->answers, answer);
    unlock_and_wake(queue);
    pthread_mutex_lock(&queue->mutex);
    while (queue->undelivered > ARCP__QUEUE_ROOM && !queue->is_stopping) {
        pthread_cond_wait(&queue->reads_changed, &queue->mutex);
    }
    pthread_mutex_unlock(&queue->mutex);
}
