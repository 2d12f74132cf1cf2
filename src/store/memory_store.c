/* `memory:`: the store for tests, and for runtimes that may forget.
 *
 * Requests wait in a queue and are done inside poll, on the owner's thread: nothing
 * changes while a callback runs, so spans can point into the store. */
#include <assert.h>

#include "base/clock.h"
#include "store/memory_stream.h"
#include "store/memory_table.h"
#include "store/request.h"
#include "store/store_check.h"

typedef struct memory_store {
    arcp_store base;
    arcp_store_callbacks callbacks;
    arcp__memory_streams streams;
    arcp__memory_tables tables;
    arcp__request *queue;
    uint64_t epoch;        /* failures delivered */
    uint64_t failed_epoch; /* batches of this epoch fail like failed_error; 0: none */
    arcp_error failed_error;
    bool is_polling;
    bool is_woken;
    bool is_closing;
    arcp_store_stats stats;
} memory_store;

static memory_store *from_base(arcp_store *store)
{
    return (memory_store *)store;
}

static void set_callbacks(arcp_store *base, const arcp_store_callbacks *callbacks)
{
    from_base(base)->callbacks = *callbacks;
}

/* Takes the request over. */
static arcp_status ask(memory_store *store, arcp__request *request, arcp_error *err)
{
    if (store->is_closing) {
        arcp__request_free(request);
        return arcp_error_set(err, ARCP_E_CLOSED, "the store is closing");
    }
    request->epoch = store->epoch;
    DL_APPEND(store->queue, request);
    if (!store->is_woken && store->callbacks.wake != NULL) {
        store->is_woken = true;
        store->callbacks.wake(store->callbacks.user);
    }
    return ARCP_OK;
}

static arcp_status submit(arcp_store *base, const arcp_store_batch *batch, arcp_error *err)
{
    arcp__request *request = NULL;
    arcp_status status = arcp__request_new_batch(batch, &request, err);
    return status != ARCP_OK ? status : ask(from_base(base), request, err);
}

static arcp_status read_records(arcp_store *base, uint64_t read_id, arcp_span stream, uint64_t from,
                                size_t count_max, size_t bytes_max, arcp_error *err)
{
    arcp__request *request = NULL;
    arcp_status status =
        arcp__request_new_read(read_id, stream, from, count_max, bytes_max, &request, err);
    return status != ARCP_OK ? status : ask(from_base(base), request, err);
}

static arcp_status scan_rows(arcp_store *base, uint64_t read_id, arcp_store_table table,
                             arcp_span prefix, arcp_error *err)
{
    arcp__request *request = NULL;
    arcp_status status = arcp__request_new_scan(read_id, table, prefix, &request, err);
    return status != ARCP_OK ? status : ask(from_base(base), request, err);
}

/* Streams first: an append out of place is the worse of two faults. */
static arcp_status stage(memory_store *store, const arcp__request *batch, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t at = 0; status == ARCP_OK && at < batch->count; at++) {
        if (!arcp__store_is_of_row(&batch->ops[at])) {
            status = arcp__memory_streams_plan(&store->streams, &batch->ops[at], at, err);
        }
    }
    for (size_t at = 0; status == ARCP_OK && at < batch->count; at++) {
        if (arcp__store_is_of_row(&batch->ops[at])) {
            status = arcp__memory_tables_stage(&store->tables, &batch->ops[at], err);
        }
    }
    return status == ARCP_OK ? arcp__memory_streams_prepare(&store->streams, err) : status;
}

static void apply(memory_store *store, arcp__request *batch)
{
    if (store->failed_epoch != 0 && batch->epoch < store->failed_epoch) {
        batch->status = store->failed_error.status;
        batch->error = store->failed_error;
        return;
    }
    int64_t began_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    batch->status = stage(store, batch, &batch->error);
    if (batch->status == ARCP_OK) {
        arcp__memory_tables_commit(&store->tables);
        arcp__memory_streams_commit(&store->streams, batch->ops, batch->count);
        uint64_t took_ns = (uint64_t)(arcp__clock_ns(CLOCK_MONOTONIC) - began_ns);
        store->stats.batches++;
        store->stats.commits++;
        store->stats.ops += batch->count;
        store->stats.commit_ns_total += took_ns;
        store->stats.commit_ns_max =
            took_ns > store->stats.commit_ns_max ? took_ns : store->stats.commit_ns_max;
        return;
    }
    arcp__memory_tables_abandon(&store->tables);
    arcp__memory_streams_abandon(&store->streams);
    store->failed_epoch = ++store->epoch;
    store->failed_error = batch->error;
}

static void deliver_read(memory_store *store, const arcp__request *read)
{
    const arcp_store_callbacks *callbacks = &store->callbacks;
    arcp_span key = arcp__request_key(read);
    /* Ask for how many there are before making room for them. */
    size_t capacity = read->count_max < 256 ? read->count_max : 256;
    for (;;) {
        arcp_span *records = arcp__alloc_array(capacity, sizeof(*records));
        if (records == NULL) {
            arcp_error error = {0};
            (void)arcp_error_set(&error, ARCP_E_NO_MEMORY, "out of memory for a read");
            callbacks->read(callbacks->user, read->id, ARCP_E_NO_MEMORY, 0, NULL, 0, &error);
            return;
        }
        uint64_t first = 0;
        size_t count = arcp__memory_streams_read(&store->streams, key, read->from, capacity,
                                                 read->bytes_max, records, &first);
        if (count == capacity && capacity < read->count_max) {
            /* Perhaps there are more than fit: look again with more room. */
            arcp__free(records);
            capacity = capacity > read->count_max / 4 ? read->count_max : capacity * 4;
            continue;
        }
        callbacks->read(callbacks->user, read->id, ARCP_OK, first, records, count, NULL);
        arcp__free(records);
        return;
    }
}

static void deliver_scan(memory_store *store, const arcp__request *scan)
{
    const arcp_store_callbacks *callbacks = &store->callbacks;
    arcp_error error = {0};
    arcp_store_row *rows = NULL;
    size_t count = 0;
    arcp_status status = arcp__memory_tables_scan(&store->tables, scan->table,
                                                  arcp__request_key(scan), &rows, &count, &error);
    if (status != ARCP_OK) {
        callbacks->scan(callbacks->user, scan->id, status, NULL, 0, true, &error);
        return;
    }
    size_t at = 0;
    for (; count - at > ARCP_STORE_SCAN_ROWS_MAX; at += ARCP_STORE_SCAN_ROWS_MAX) {
        callbacks->scan(callbacks->user, scan->id, ARCP_OK, rows + at, ARCP_STORE_SCAN_ROWS_MAX,
                        false, NULL);
    }
    callbacks->scan(callbacks->user, scan->id, ARCP_OK, rows + at, count - at, true, NULL);
    arcp__free(rows);
}

static void serve(memory_store *store, arcp__request *request)
{
    const arcp_store_callbacks *callbacks = &store->callbacks;
    switch (request->kind) {
    case ARCP__REQUEST_BATCH:
        apply(store, request);
        callbacks->done(callbacks->user, request->id, request->status,
                        request->status == ARCP_OK ? NULL : &request->error);
        return;
    case ARCP__REQUEST_READ:
        deliver_read(store, request);
        return;
    case ARCP__REQUEST_SCAN:
        deliver_scan(store, request);
        return;
    }
}

static bool poll_store(arcp_store *base)
{
    memory_store *store = from_base(base);
    assert(!store->is_polling);
    store->is_polling = true;
    store->is_woken = false;
    /* What callbacks submit is for the next poll: this one ends. */
    arcp__request *waiting = store->queue;
    store->queue = NULL;
    while (waiting != NULL) {
        arcp__request *request = waiting;
        DL_DELETE(waiting, request);
        serve(store, request);
        arcp__request_free(request);
    }
    store->is_polling = false;
    return store->queue != NULL;
}

static void get_stats(arcp_store *base, arcp_store_stats *out)
{
    const memory_store *store = from_base(base);
    *out = store->stats;
    out->bytes = store->streams.bytes + store->tables.bytes;
}

static void close_store(arcp_store *base)
{
    memory_store *store = from_base(base);
    assert(!store->is_polling);
    store->is_closing = true;
    while (poll_store(base)) {
    }
    arcp__memory_streams_fini(&store->streams);
    arcp__memory_tables_fini(&store->tables);
    arcp__free(store);
}

static const arcp_store_ops memory_ops = {
    .name = "memory",
    .durable = false,
    .set_callbacks = set_callbacks,
    .submit = submit,
    .read = read_records,
    .scan = scan_rows,
    .poll = poll_store,
    .stats = get_stats,
    .close = close_store,
};

arcp_status arcp_store_open_memory(arcp_store **out, arcp_error *err)
{
    memory_store *store = arcp__alloc(sizeof(*store));
    if (store == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a store");
    }
    store->base.ops = &memory_ops;
    *out = &store->base;
    return ARCP_OK;
}
