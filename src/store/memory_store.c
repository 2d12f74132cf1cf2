/* `memory:`: the store for tests, and for runtimes whose state may be lost.
 *
 * Requests are served inside poll, on the owner's thread: nothing changes while a callback runs, so
 * spans can point into the store.
 *
 * A batch is one transaction in two steps. First its operations are planned and memory is allocated
 * for them, which may fail; then the batch is committed or abandoned, which cannot fail. */
#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "store/store_queue.h"

/* The records that one batch appended to one stream. */
typedef struct memory_run {
    uint64_t first; /* position of the first record */
    size_t count;
    size_t bytes;
    char *data;    /* in the same allocation as the run */
    size_t ends[]; /* of each record in data */
} memory_run;

typedef struct memory_stream {
    UT_hash_handle hh;
    memory_run **runs; /* the oldest is at `head`; an owned array, or `few` */
    memory_run *few[2];
    uint64_t next; /* position; 0: the stream does not exist */
    uint32_t head;
    uint32_t count; /* runs from head on */
    uint32_t capacity;
    uint32_t planned; /* 1-based index of its plan; 0: not in the current batch */
    uint32_t key_size;
    char key[];
} memory_stream;

/* What the current batch does to one stream. Each operation has a plan; the plan of the first
 * operation on a stream collects the effects of all operations on it. (Plans are not part of the
 * streams, because there are many streams and few of them in a batch.) */
typedef struct memory_plan {
    memory_stream *stream; /* NULL: the operation is not the first one on a stream */
    size_t place;          /* index of the plan that collects this operation's effect */
    uint64_t next;         /* the stream's next position afterwards */
    uint64_t trim;
    size_t from; /* operations before this one are undone by a DROP */
    bool drop;
    size_t count;
    size_t bytes;
    memory_run *run; /* owned until committed */
} memory_plan;

typedef struct memory_row {
    UT_hash_handle hh;
    char *value;  /* owned; NULL: the row is new in the current batch */
    char *staged; /* owned; the value after the current batch; NULL: no row */
    size_t value_size, staged_size;
    bool is_staged;
    struct memory_row *next_staged;
    arcp_store_table table;
    size_t key_size;
    char key[];
} memory_row;

typedef struct memory_store {
    arcp__store_queue queue;
    memory_stream *streams;
    memory_plan *plans; /* owned array; of the current batch */
    size_t plan_count, plan_capacity;
    memory_row *rows[ARCP_STORE_TABLE_COUNT];
    memory_row *staged;    /* rows that the current batch changes */
    uint64_t bytes;        /* of all records, keys and values of rows */
    uint64_t failed_epoch; /* batches of earlier epochs fail with `failed` */
    arcp_error failed;
} memory_store;

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory in the store");
}

/* ---- streams ---- */

static void drop_oldest(memory_store *store, memory_stream *stream)
{
    memory_run *run = stream->runs[stream->head];
    store->bytes -= run->bytes;
    arcp__free(run);
    stream->head++;
    stream->count--;
}

static void stream_free(memory_store *store, memory_stream *stream)
{
    while (stream->count != 0) {
        drop_oldest(store, stream);
    }
    assert(store->streams != NULL);
    HASH_DEL(store->streams, stream);
    if (stream->runs != stream->few) {
        arcp__free(stream->runs);
    }
    arcp__free(stream);
}

static memory_stream *stream_find(const memory_store *store, arcp_span key)
{
    memory_stream *stream = NULL;
    HASH_FIND(hh, store->streams, key.data, key.size, stream);
    return stream;
}

static memory_stream *stream_new(memory_store *store, arcp_span key)
{
    memory_stream *stream = arcp__alloc(sizeof *stream + key.size);
    if (stream == NULL) {
        return NULL;
    }
    stream->runs = stream->few;
    stream->capacity = sizeof stream->few / sizeof stream->few[0];
    stream->key_size = (uint32_t)key.size;
    memcpy(stream->key, key.data, key.size);
    HASH_ADD_KEYPTR(hh, store->streams, stream->key, stream->key_size, stream);
    if (!ARCP__HASH_ADDED(stream)) {
        arcp__free(stream);
        return NULL;
    }
    return stream;
}

/* Plans operation number `i` of the batch: an APPEND, TRIM or DROP. */
static arcp_status plan_stream(memory_store *store, const arcp_store_op *op, size_t i,
                               arcp_error *err)
{
    memory_stream *stream = stream_find(store, op->key);
    if (stream == NULL && op->kind != ARCP_STORE_APPEND) {
        return ARCP_OK;
    }
    stream = stream != NULL ? stream : stream_new(store, op->key);
    if (stream == NULL) {
        return no_memory(err);
    }
    if (stream->planned == 0) {
        stream->planned = (uint32_t)i + 1;
        store->plans[i] = (memory_plan){.stream = stream, .next = stream->next};
    }
    const size_t place = stream->planned - 1;
    memory_plan *plan = &store->plans[place];
    store->plans[i].place = place;
    if (op->kind == ARCP_STORE_DROP) {
        *plan = (memory_plan){.stream = stream, .place = place, .from = i + 1, .drop = true};
        return ARCP_OK;
    }
    if (op->kind == ARCP_STORE_TRIM) {
        /* A trim does not apply to records that are appended later. */
        const uint64_t below = op->position < plan->next ? op->position : plan->next;
        plan->trim = below > plan->trim ? below : plan->trim;
        return ARCP_OK;
    }
    if (op->position != plan->next) {
        return arcp__store_position_error(op, plan->next, err);
    }
    plan->next++;
    plan->count++;
    plan->bytes += op->value.size;
    return ARCP_OK;
}

/* Makes room for one more run. */
static bool reserve_run(memory_stream *stream)
{
    if (stream->head + stream->count < stream->capacity) {
        return true;
    }
    if (stream->head > stream->count) {
        memmove(stream->runs, stream->runs + stream->head, stream->count * sizeof *stream->runs);
        stream->head = 0;
        return true;
    }
    const size_t capacity = (size_t)stream->capacity * 2;
    memory_run **owned = stream->runs == stream->few ? NULL : stream->runs;
    memory_run **runs =
        capacity > UINT32_MAX ? NULL : arcp__realloc_array(owned, capacity, sizeof *stream->runs);
    if (runs == NULL) {
        return false;
    }
    if (owned == NULL) {
        memcpy(runs, stream->few, sizeof stream->few);
    }
    stream->runs = runs;
    stream->capacity = (uint32_t)capacity;
    return true;
}

/* Allocates the planned runs. */
static arcp_status prepare_runs(memory_store *store, arcp_error *err)
{
    for (size_t i = 0; i < store->plan_count; i++) {
        memory_plan *plan = &store->plans[i];
        if (plan->stream == NULL || plan->count == 0) {
            continue;
        }
        /* The records are all in memory, so the sum of their sizes cannot overflow. */
        const size_t head = sizeof(memory_run) + plan->count * sizeof(size_t);
        plan->run = arcp__alloc(head + plan->bytes);
        if (plan->run == NULL || !reserve_run(plan->stream)) {
            return no_memory(err);
        }
        plan->run->data = (char *)plan->run + head;
        plan->run->first = plan->next - plan->count;
    }
    return ARCP_OK;
}

static void commit_streams(memory_store *store, const arcp__request *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const arcp_store_op *op = &batch->ops[i];
        const memory_plan *plan = &store->plans[store->plans[i].place];
        if (op->kind != ARCP_STORE_APPEND || i < plan->from) {
            continue;
        }
        memory_run *run = plan->run;
        if (op->value.size != 0) {
            memcpy(run->data + run->bytes, op->value.data, op->value.size);
        }
        run->bytes += op->value.size;
        run->ends[run->count++] = run->bytes;
    }
    for (size_t i = 0; i < store->plan_count; i++) {
        memory_plan *plan = &store->plans[i];
        memory_stream *stream = plan->stream;
        if (stream == NULL) {
            continue;
        }
        while (plan->drop && stream->count != 0) {
            drop_oldest(store, stream);
        }
        if (plan->run != NULL) {
            stream->runs[stream->head + stream->count++] = plan->run;
            store->bytes += plan->run->bytes;
            plan->run = NULL;
        }
        while (stream->count != 0 &&
               stream->runs[stream->head]->first + stream->runs[stream->head]->count <=
                   plan->trim) {
            drop_oldest(store, stream);
        }
        stream->next = plan->next;
    }
}

/* Called after the commit, or instead of it. */
static void forget_plans(memory_store *store)
{
    for (size_t i = 0; i < store->plan_count; i++) {
        memory_stream *stream = store->plans[i].stream;
        if (stream == NULL) {
            continue;
        }
        arcp__free(store->plans[i].run);
        stream->planned = 0;
        if (stream->next == 0) {
            stream_free(store, stream);
        }
    }
    store->plan_count = 0;
}

/* ---- rows ---- */

static memory_row *row_new(memory_store *store, arcp_store_table table, arcp_span key)
{
    memory_row *row = arcp__alloc(sizeof *row + key.size);
    if (row == NULL) {
        return NULL;
    }
    row->table = table;
    row->key_size = key.size;
    memcpy(row->key, key.data, key.size);
    HASH_ADD_KEYPTR(hh, store->rows[table], row->key, row->key_size, row);
    if (!ARCP__HASH_ADDED(row)) {
        arcp__free(row);
        return NULL;
    }
    return row;
}

static void row_free(memory_store *store, memory_row *row)
{
    HASH_DEL(store->rows[row->table], row);
    arcp__free(row->value);
    arcp__free(row->staged);
    arcp__free(row);
}

/* Stages a PUT or DELETE. */
static arcp_status stage_row(memory_store *store, const arcp_store_op *op, arcp_error *err)
{
    memory_row *row = NULL;
    char *value = NULL;
    HASH_FIND(hh, store->rows[op->table], op->key.data, op->key.size, row);
    if (op->kind == ARCP_STORE_DELETE && row == NULL) {
        return ARCP_OK;
    }
    if (op->kind == ARCP_STORE_PUT) {
        value = arcp__copy_cstr(op->value.data, op->value.size);
        if (value == NULL) {
            return no_memory(err);
        }
    }
    row = row != NULL ? row : row_new(store, op->table, op->key);
    if (row == NULL) {
        arcp__free(value);
        return no_memory(err);
    }
    if (!row->is_staged) {
        row->is_staged = true;
        row->next_staged = store->staged;
        store->staged = row;
    }
    arcp__free(row->staged);
    row->staged = value;
    row->staged_size = value == NULL ? 0 : op->value.size;
    return ARCP_OK;
}

/* Keeps the staged or the old value of each changed row; a row without a value is removed. */
static void settle_rows(memory_store *store, bool keep_staged)
{
    memory_row *next = NULL;
    for (memory_row *row = store->staged; row != NULL; row = next) {
        next = row->next_staged;
        if (keep_staged) {
            store->bytes -= row->value == NULL ? 0 : row->key_size + row->value_size;
            store->bytes += row->staged == NULL ? 0 : row->key_size + row->staged_size;
            arcp__free(row->value);
            row->value = row->staged;
            row->value_size = row->staged_size;
        } else {
            arcp__free(row->staged);
        }
        row->staged = NULL;
        row->is_staged = false;
        row->next_staged = NULL;
        if (row->value == NULL) {
            row_free(store, row);
        }
    }
    store->staged = NULL;
}

/* ---- requests ---- */

/* Streams first: if a batch has two errors, an append at the wrong position is the one to report.
 */
static arcp_status stage(memory_store *store, const arcp__request *batch, arcp_error *err)
{
    if (batch->count > store->plan_capacity) {
        memory_plan *plans = batch->count > UINT32_MAX - 1
                                 ? NULL
                                 : arcp__realloc_array(store->plans, batch->count, sizeof *plans);
        if (plans == NULL) {
            return no_memory(err);
        }
        store->plans = plans;
        store->plan_capacity = batch->count;
    }
    arcp_status status = ARCP_OK;
    for (size_t i = 0; status == ARCP_OK && i < batch->count; i++) {
        store->plans[i].stream = NULL;
        store->plans[i].place = i;
        store->plan_count = i + 1;
        if (!arcp__store_is_of_row(&batch->ops[i])) {
            status = plan_stream(store, &batch->ops[i], i, err);
        }
    }
    for (size_t i = 0; status == ARCP_OK && i < batch->count; i++) {
        if (arcp__store_is_of_row(&batch->ops[i])) {
            status = stage_row(store, &batch->ops[i], err);
        }
    }
    return status == ARCP_OK ? prepare_runs(store, err) : status;
}

static void apply(memory_store *store, arcp__request *batch)
{
    if (batch->epoch < store->failed_epoch) {
        batch->error = store->failed;
        return;
    }
    const int64_t began_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    const bool is_staged = stage(store, batch, &batch->error) == ARCP_OK;
    settle_rows(store, is_staged);
    if (is_staged) {
        commit_streams(store, batch);
        arcp__queue_count_commit(&store->queue, 1, batch->count, began_ns);
    } else {
        store->failed_epoch = batch->epoch + 1;
        store->failed = batch->error;
    }
    forget_plans(store);
}

static void read_stream(memory_store *store, arcp__request *read)
{
    const memory_stream *stream = stream_find(store, arcp__request_key(read));
    if (stream == NULL) {
        return;
    }
    read->first = stream->next;
    /* The first run that ends after the position. */
    size_t low = 0;
    for (size_t high = stream->count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const memory_run *run = stream->runs[stream->head + middle];
        if (run->first + run->count > read->from) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    for (; low < stream->count; low++) {
        const memory_run *run = stream->runs[stream->head + low];
        size_t i = read->from > run->first ? (size_t)(read->from - run->first) : 0;
        for (; i < run->count; i++) {
            const size_t start = i == 0 ? 0 : run->ends[i - 1];
            if (!arcp__request_add(read, run->first + i,
                                   arcp_span_make(run->data + start, run->ends[i] - start))) {
                (void)arcp_error_set(&read->error, ARCP_E_NO_MEMORY, "out of memory for a read");
                read->answer_count = 0;
                read->first = 0;
                return;
            }
            if (read->is_full) {
                return;
            }
        }
    }
}

static int compare_rows(const void *left, const void *right)
{
    const arcp_store_row *a = left;
    const arcp_store_row *b = right;
    const size_t shorter = a->key.size < b->key.size ? a->key.size : b->key.size;
    const int order = memcmp(a->key.data, b->key.data, shorter);
    if (order != 0) {
        return order;
    }
    return (a->key.size > b->key.size) - (a->key.size < b->key.size);
}

static void scan_rows(memory_store *store, arcp__request *scan)
{
    const memory_row *row = store->rows[scan->table];
    scan->is_last = true;
    scan->rows = arcp__alloc_array((size_t)HASH_COUNT(row) + 1, sizeof *scan->rows);
    if (scan->rows == NULL) {
        (void)no_memory(&scan->error);
        return;
    }
    for (; row != NULL; row = row->hh.next) {
        const arcp_span key = arcp_span_make(row->key, row->key_size);
        if (arcp_span_starts_with(key, arcp__request_key(scan))) {
            scan->rows[scan->answer_count++] =
                (arcp_store_row){key, arcp_span_make(row->value, row->value_size)};
        }
    }
    qsort(scan->rows, scan->answer_count, sizeof *scan->rows, compare_rows);
}

static void serve(arcp__store_queue *queue, arcp__request *request)
{
    memory_store *store = (memory_store *)queue;
    switch (request->kind) {
    case ARCP__REQUEST_BATCH:
        apply(store, request);
        return;
    case ARCP__REQUEST_READ:
        read_stream(store, request);
        return;
    case ARCP__REQUEST_SCAN:
        scan_rows(store, request);
        return;
    }
}

/* ---- the vtable ---- */

static void get_stats(arcp_store *base, arcp_store_stats *out)
{
    arcp__queue_stats(base, ((const memory_store *)base)->bytes, out);
}

static void close_store(arcp_store *base)
{
    memory_store *store = (memory_store *)base;
    memory_stream *stream = NULL;
    memory_stream *next_stream = NULL;
    arcp__queue_close(&store->queue);
    HASH_ITER (hh, store->streams, stream, next_stream) {
        stream_free(store, stream);
    }
    for (size_t table = 0; table < ARCP_STORE_TABLE_COUNT; table++) {
        memory_row *row = NULL;
        memory_row *next_row = NULL;
        HASH_ITER (hh, store->rows[table], row, next_row) {
            row_free(store, row);
        }
    }
    arcp__free(store->plans);
    arcp__queue_fini(&store->queue);
    arcp__free(store);
}

static const arcp_store_ops memory_ops = {
    .struct_size = sizeof(arcp_store_ops),
    .name = "memory",
    .durable = false,
    .set_callbacks = arcp__queue_set_callbacks,
    .submit = arcp__queue_submit,
    .read = arcp__queue_read,
    .scan = arcp__queue_scan,
    .poll = arcp__queue_poll,
    .stats = get_stats,
    .close = close_store,
};

arcp_status arcp_store_open_memory(arcp_store **out, arcp_error *err)
{
    memory_store *store = arcp__alloc(sizeof *store);
    if (store == NULL) {
        return no_memory(err);
    }
    arcp__queue_init(&store->queue);
    store->queue.base.ops = &memory_ops;
    store->queue.serve = serve;
    *out = &store->queue.base;
    return ARCP_OK;
}
