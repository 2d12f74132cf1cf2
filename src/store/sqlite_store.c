/* `sqlite:PATH`: the vtable, and the parts that implement it.
 *
 *   file        holds the lock; closed after all connections
 *   writer      thread and connection; commits groups of batches
 *   checkpoint  thread and connection; moves the log into the database
 *   reader      thread and connection; reads and scans
 *   queue       requests and answers, between these threads and the owner's */
#include "base/alloc.h"
#include "base/thread.h"
#include "store/sqlite_checkpoint.h"
#include "store/sqlite_file.h"
#include "store/sqlite_reader.h"
#include "store/sqlite_writer.h"
#include "store/store_queue.h"

typedef struct sqlite_store {
    arcp__store_queue queue;
    arcp__sqlite_file file;
    arcp__sqlite_writer writer;
    arcp__sqlite_checkpoint checkpoint;
    arcp__sqlite_reader reader;
    pthread_t writer_thread;
    pthread_t reader_thread;
} sqlite_store;

static void get_stats(arcp_store *base, arcp_store_stats *out)
{
    arcp__queue_stats(base, arcp__sqlite_file_bytes(&((const sqlite_store *)base)->file), out);
}

/* Closes in the reverse order of opening; parts that were not opened are skipped. */
static void free_store(sqlite_store *store)
{
    arcp__sqlite_close(&store->reader.sqlite);
    arcp__sqlite_checkpoint_stop(&store->checkpoint);
    arcp__sqlite_writer_close(&store->writer);
    arcp__sqlite_file_close(&store->file);
    arcp__queue_fini(&store->queue);
    arcp__free(store);
}

static void close_store(arcp_store *base)
{
    sqlite_store *store = (sqlite_store *)base;
    arcp__queue_close(&store->queue);
    pthread_join(store->writer_thread, NULL);
    pthread_join(store->reader_thread, NULL);
    free_store(store);
}

static const arcp_store_ops sqlite_ops = {
    .struct_size = sizeof(arcp_store_ops),
    .name = "sqlite",
    .durable = true,
    .set_callbacks = arcp__queue_set_callbacks,
    .submit = arcp__queue_submit,
    .read = arcp__queue_read,
    .scan = arcp__queue_scan,
    .poll = arcp__queue_poll,
    .stats = get_stats,
    .close = close_store,
};

static bool start_threads(sqlite_store *store)
{
    if (arcp__thread_start(&store->writer_thread, "arcp-store-w", arcp__sqlite_writer_run,
                           &store->writer) != 0) {
        return false;
    }
    if (arcp__thread_start(&store->reader_thread, "arcp-store-r", arcp__sqlite_reader_run,
                           &store->reader) != 0) {
        arcp__queue_close(&store->queue);
        pthread_join(store->writer_thread, NULL);
        return false;
    }
    return true;
}

arcp_status arcp_store_open_sqlite(const char *path, arcp_store **out, arcp_error *err)
{
    arcp_error failure = {0};
    sqlite_store *store = arcp__alloc(sizeof *store);
    if (store == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a store");
    }
    store->queue.base.ops = &sqlite_ops;
    arcp__queue_init(&store->queue);
    arcp__sqlite_file_open(path, &store->file, &failure);
    arcp__sqlite_writer_open(&store->writer, &store->file, &failure);
    arcp__sqlite_checkpoint_start(&store->checkpoint, &store->writer.sqlite, &failure);
    arcp__sqlite_reader_open(&store->reader, store->file.path, &failure);
    store->writer.queue = &store->queue;
    store->writer.checkpoint = &store->checkpoint;
    store->reader.queue = &store->queue;
    store->reader.checkpoint = &store->checkpoint;
    if (failure.status == ARCP_OK && !start_threads(store)) {
        (void)arcp_error_set(&failure, ARCP_E_NO_MEMORY, "cannot create a thread for the store");
    }
    if (failure.status != ARCP_OK) {
        free_store(store);
        return arcp_error_copy(err, &failure);
    }
    *out = &store->queue.base;
    return ARCP_OK;
}
