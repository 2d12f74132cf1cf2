/* `postgres://...`: the vtable, and the parts that implement it.
 *
 *   owner   control connection and thread; the node's row, its beat
 *   writer  writing connection and thread; transactions of batches
 *   reader  reading connection and thread; reads and scans
 *   queue   requests and answers, between these threads and the owner's
 *
 * Sessions are known by application_name, arcpd/INCARNATION/CONNECTION. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/ulid.h"
#include "store/postgres.h"
#include "store/postgres_open.h"
#include "store/postgres_reader.h"
#include "store/postgres_writer.h"

#define LEASE_MS    15000u
#define PATIENCE_MS 12000u
#define ANSWER_MS   5000u

typedef struct postgres_store {
    arcp__store_queue queue;
    char *url;
    arcp__pg_owner owner;
    arcp__pg_writer writer;
    arcp__pg_reader reader;
    pthread_t writer_thread;
    pthread_t reader_thread;
} postgres_store;

static void get_stats(arcp_store *base, arcp_store_stats *out)
{
    arcp__queue_stats(base, atomic_load(&((postgres_store *)base)->owner.bytes), out);
}

static arcp_status submit(arcp_store *base, const arcp_store_batch *batch, arcp_error *err)
{
    const arcp_status status = arcp__queue_submit(base, batch, err);
    if (status == ARCP_OK) {
        arcp__pg_writer_wake(&((postgres_store *)base)->writer);
    }
    return status;
}

/* Closes in the reverse order of opening; parts that were not opened are skipped. */
static void free_store(postgres_store *store)
{
    arcp__pg_close(&store->reader.pg);
    arcp__pg_writer_close(&store->writer);
    arcp__pg_owner_close(&store->owner);
    arcp__queue_fini(&store->queue);
    arcp__free(store->url);
    arcp__free(store);
}

static void close_store(arcp_store *base)
{
    postgres_store *store = (postgres_store *)base;
    arcp__queue_close(&store->queue);
    arcp__pg_writer_wake(&store->writer);
    pthread_join(store->writer_thread, NULL);
    pthread_join(store->reader_thread, NULL);
    free_store(store);
}

static const arcp_store_ops postgres_ops = {
    .struct_size = sizeof(arcp_store_ops),
    .name = "postgres",
    .durable = true,
    .set_callbacks = arcp__queue_set_callbacks,
    .submit = submit,
    .read = arcp__queue_read,
    .scan = arcp__queue_scan,
    .poll = arcp__queue_poll,
    .stats = get_stats,
    .close = close_store,
};

static bool start_threads(postgres_store *store)
{
    if (arcp__thread_start(&store->writer_thread, "arcp-store-w", arcp__pg_writer_run,
                           &store->writer) != 0) {
        return false;
    }
    if (arcp__thread_start(&store->reader_thread, "arcp-store-r", arcp__pg_reader_run,
                           &store->reader) != 0) {
        arcp__queue_close(&store->queue);
        arcp__pg_writer_wake(&store->writer);
        pthread_join(store->writer_thread, NULL);
        return false;
    }
    return true;
}

static void draw(void *user, void *out, size_t size)
{
    arcp__random(out, size);
}

static char *copy(const char *text)
{
    return arcp__copy_cstr(text, strlen(text));
}

static uint64_t or_default(uint64_t given, uint64_t otherwise)
{
    return given == 0 ? otherwise : given;
}

/* Sets what the connections have in common. */
static arcp_status prepare(postgres_store *store, const arcp__postgres_options *options,
                           arcp_error *err)
{
    arcp__ulid_source source = {.random = draw};
    const int64_t answer_ns = (int64_t)or_default(options->answer_ms, ANSWER_MS) * ARCP_NS_PER_MS;
    const int64_t patience_ns =
        (int64_t)or_default(options->patience_ms, PATIENCE_MS) * ARCP_NS_PER_MS;
    char *incarnation = store->owner.incarnation;
    arcp__ulid_next(&source, arcp__clock_now().wall_ns / ARCP_NS_PER_MS, incarnation);
    store->url = copy(options->url);
    store->owner.node = copy(options->node);
    store->owner.home = copy(options->home);
    store->owner.lease_ms = or_default(options->lease_ms, LEASE_MS);
    store->owner.pg = (arcp__pg){.url = store->url, .answer_ns = answer_ns};
    store->writer.pg = store->owner.pg;
    store->reader.pg = store->owner.pg;
    (void)snprintf(store->writer.pg.name, sizeof store->writer.pg.name, "arcpd/%s/w", incarnation);
    (void)snprintf(store->reader.pg.name, sizeof store->reader.pg.name, "arcpd/%s/r", incarnation);
    store->writer.owner = &store->owner;
    store->writer.queue = store->reader.queue = &store->queue;
    store->writer.patience_ns = store->reader.patience_ns = patience_ns;
    return store->url == NULL || store->owner.node == NULL || store->owner.home == NULL
               ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a store")
               : ARCP_OK;
}

arcp_status arcp__pg_store_open(const arcp__postgres_options *options, arcp_store **out,
                                arcp_error *err)
{
    arcp_error failure = {0};
    postgres_store *store = arcp__alloc(sizeof *store);
    if (store == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a store");
    }
    store->queue.base.ops = &postgres_ops;
    arcp__queue_init(&store->queue);
    if (prepare(store, options, &failure) == ARCP_OK &&
        arcp__pg_owner_open(&store->owner, &failure) == ARCP_OK &&
        arcp__pg_writer_open(&store->writer, &failure) == ARCP_OK &&
        arcp__pg_connect(&store->reader.pg, true, &failure) == ARCP_OK &&
        arcp__pg_owner_start(&store->owner, &failure) == ARCP_OK && !start_threads(store)) {
        (void)arcp_error_set(&failure, ARCP_E_NO_MEMORY, "cannot create a thread for the store");
    }
    if (failure.status != ARCP_OK) {
        free_store(store);
        return arcp_error_copy(err, &failure);
    }
    *out = &store->queue.base;
    return ARCP_OK;
}
