/* `sqlite:PATH`: the vtable, and how its parts are put together.
 *
 *   file        holds the lock, outlives all connections
 *   writer      thread and connection; commits groups of batches
 *   checkpoint  thread and connection; empties the log
 *   reader      thread and connection; reads and scans
 *   handover    queues between these and the owner's thread */
#include <arcp/sys/store.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "store/handover.h"
#include "store/sqlite_checkpoint.h"
#include "store/sqlite_file.h"
#include "store/sqlite_reader.h"
#include "store/sqlite_writer.h"

typedef struct sqlite_store {
    arcp_store base;
    arcp__handover handover;
    arcp__sqlite_file file;
    arcp__sqlite_writer writer;
    arcp__sqlite_checkpoint checkpoint;
    arcp__sqlite_reader reader;
    pthread_t writer_thread;
    pthread_t reader_thread;
} sqlite_store;

static sqlite_store *from_base(arcp_store *store)
{
    return (sqlite_store *)store;
}

static void set_callbacks(arcp_store *base, const arcp_store_callbacks *callbacks)
{
    from_base(base)->handover.callbacks = *callbacks;
}

static arcp_status submit(arcp_store *base, const arcp_store_batch *batch, arcp_error *err)
{
    arcp__request *request = NULL;
    arcp_status status = arcp__request_new_batch(batch, &request, err);
    return status != ARCP_OK ? status
                             : arcp__handover_ask(&from_base(base)->handover, request, err);
}

static arcp_status read_records(arcp_store *base, uint64_t read_id, arcp_span stream, uint64_t from,
                                size_t count_max, size_t bytes_max, arcp_error *err)
{
    arcp__request *request = NULL;
    arcp_status status =
        arcp__request_new_read(read_id, stream, from, count_max, bytes_max, &request, err);
    return status != ARCP_OK ? status
                             : arcp__handover_ask(&from_base(base)->handover, request, err);
}

static arcp_status scan_rows(arcp_store *base, uint64_t read_id, arcp_store_table table,
                             arcp_span prefix, arcp_error *err)
{
    arcp__request *request = NULL;
    arcp_status status = arcp__request_new_scan(read_id, table, prefix, &request, err);
    return status != ARCP_OK ? status
                             : arcp__handover_ask(&from_base(base)->handover, request, err);
}

static bool poll_store(arcp_store *base)
{
    return arcp__handover_poll(&from_base(base)->handover);
}

static void get_stats(arcp_store *base, arcp_store_stats *out)
{
    sqlite_store *store = from_base(base);
    arcp__handover_stats(&store->handover, out);
    out->bytes = arcp__sqlite_file_bytes(&store->file);
}

/* In the opposite order of opening; parts that were not opened are skipped. */
static void free_store(sqlite_store *store)
{
    arcp__sqlite_reader_close(&store->reader);
    arcp__sqlite_checkpoint_stop(&store->checkpoint);
    arcp__sqlite_writer_close(&store->writer);
    arcp__sqlite_file_close(&store->file);
    arcp__handover_fini(&store->handover);
    arcp__free(store);
}

static void close_store(arcp_store *base)
{
    sqlite_store *store = from_base(base);
    arcp__handover_close(&store->handover);
    pthread_join(store->writer_thread, NULL);
    pthread_join(store->reader_thread, NULL);
    free_store(store);
}

static const arcp_store_ops sqlite_ops = {
    .name = "sqlite",
    .durable = true,
    .set_callbacks = set_callbacks,
    .submit = submit,
    .read = read_records,
    .scan = scan_rows,
    .poll = poll_store,
    .stats = get_stats,
    .close = close_store,
};

static arcp_status open_parts(sqlite_store *store, const char *path, arcp_error *err)
{
    arcp_status status = arcp__sqlite_file_open(path, &store->file, err);
    if (status == ARCP_OK) {
        status = arcp__sqlite_writer_open(&store->writer, &store->file, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_checkpoint_start(&store->checkpoint, &store->writer.sqlite, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_reader_open(&store->reader, store->file.path, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    store->writer.handover = &store->handover;
    store->writer.checkpoint = &store->checkpoint;
    store->reader.handover = &store->handover;
    store->reader.checkpoint = &store->checkpoint;
    return ARCP_OK;
}

static bool start_threads(sqlite_store *store)
{
    if (arcp__thread_start(&store->writer_thread, "arcp-store-w", arcp__sqlite_writer_run,
                           &store->writer) != 0) {
        return false;
    }
    if (arcp__thread_start(&store->reader_thread, "arcp-store-r", arcp__sqlite_reader_run,
                           &store->reader) != 0) {
        arcp__handover_close(&store->handover);
        pthread_join(store->writer_thread, NULL);
        return false;
    }
    return true;
}

arcp_status arcp_store_open_sqlite(const char *path, arcp_store **out, arcp_error *err)
{
    arcp_error failure = {0};
    sqlite_store *store = arcp__alloc(sizeof(*store));
    if (store == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a store");
    }
    store->base.ops = &sqlite_ops;
    arcp__handover_init(&store->handover);
    arcp_status status = open_parts(store, path, &failure);
    if (status == ARCP_OK && !start_threads(store)) {
        status = arcp_error_set(&failure, ARCP_E_NO_MEMORY, "no thread for the store");
    }
    if (status != ARCP_OK) {
        free_store(store);
        if (err != NULL) {
            *err = failure;
        }
        return status;
    }
    *out = &store->base;
    return ARCP_OK;
}
