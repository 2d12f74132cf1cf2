/* Connects a shard's engine with its store: submits batches, passes completions on, and restores
 * the engine's state at start. */
#include "base/clock.h"
#include "base/ulid.h"
#include "runtime/runtime_state.h"

/* ---- the store's id ---- */

static void draw_id(void *user, void *out, size_t size)
{
    arcp__random_pool_draw(&((arcp_runtime *)user)->random, out, size);
}

#define STORE_ID_KEY   "store_id"
#define STORE_ID_BATCH UINT64_MAX /* which the engine does not get to */

/* Keeps the id if this is its row. */
static void take_store_id(arcp_runtime *runtime, const arcp_store_row *row)
{
    const size_t size = sizeof runtime->store_id - 1;
    if (arcp_span_equal_cstr(row->key, STORE_ID_KEY) && row->value.size == size + 2 &&
        arcp__ulid_is_valid(arcp_span_first(arcp_span_from(row->value, 1), size))) {
        memcpy(runtime->store_id, row->value.data + 1, size);
        runtime->store_id_is_stored = true;
    }
}

arcp_status arcp__runtime_find_store_id(arcp_runtime *runtime, arcp_error *err)
{
    char value[sizeof runtime->store_id + 2];
    arcp__ulid_source source = {.random = draw_id, .user = runtime};
    if (runtime->store_id_is_stored) {
        return ARCP_OK;
    }
    arcp__ulid_next(&source, arcp__clock_now().wall_ns / ARCP_NS_PER_MS, runtime->store_id);
    (void)snprintf(value, sizeof value, "\"%s\"", runtime->store_id);
    const arcp_store_op op = {.kind = ARCP_STORE_PUT,
                              .table = ARCP_STORE_META,
                              .key = ARCP_SPAN_LITERAL(STORE_ID_KEY),
                              .value = arcp_span_cstr(value)};
    const arcp_store_batch batch = {.id = STORE_ID_BATCH, .ops = &op, .count = 1};
    arcp__shard *shard = runtime->shards; /* the first one has it */
    arcp_status status = shard->store->ops->submit(shard->store, &batch, err);
    shard->restore_status = ARCP_OK;
    while (status == ARCP_OK && !runtime->store_id_is_stored) {
        (void)shard->store->ops->poll(shard->store);
        if (!runtime->store_id_is_stored && shard->restore_status == ARCP_OK) {
            (void)uv_run(runtime->loop, UV_RUN_ONCE);
        }
        status = shard->restore_status;
    }
    return status == ARCP_OK ? ARCP_OK : arcp_error_set(err, status, "the store cannot be written");
}

/* ---- completions ---- */

static void on_done(void *user, uint64_t batch_id, arcp_status status, const arcp_error *err)
{
    arcp__shard *shard = user;
    if (batch_id == STORE_ID_BATCH) {
        shard->runtime->store_id_is_stored = status == ARCP_OK;
        shard->restore_status = status;
        return;
    }
    arcp__runtime_count_commit(shard->runtime, arcp__clock_now().mono_ns - shard->submitted_ns[0]);
    shard->batches_under_way--;
    for (unsigned i = 0; i < shard->batches_under_way; i++) {
        shard->submitted_ns[i] = shard->submitted_ns[i + 1];
    }
    shard->runtime->batches++;
    if (status != ARCP_OK) {
        arcp__runtime_log(shard->runtime, NULL, ARCP_LOG_ERROR, "store: %s",
                          err == NULL ? "" : err->message);
    }
    if (shard->runtime->options.audit_barrier != NULL) {
        shard->runtime->options.audit_barrier(shard->runtime->options.audit_barrier_user, true);
    }
    arcp__engine_committed(shard->engine, arcp__input_now(shard), batch_id, status);
}

static void on_read(void *user, uint64_t read_id, arcp_status status, uint64_t first,
                    const arcp_span *records, size_t count, const arcp_error *err)
{
    arcp__shard *shard = user;
    if (status != ARCP_OK) {
        arcp__runtime_log(shard->runtime, NULL, ARCP_LOG_ERROR, "store: %s",
                          err == NULL ? "" : err->message);
        if (err != NULL && !arcp__engine_is_restored(shard->engine)) {
            shard->restore_error = *err;
        }
    }
    arcp__engine_read_done(shard->engine, arcp__input_now(shard), read_id, status, first, records,
                           count);
}

static void on_scan(void *user, uint64_t read_id, arcp_status status, const arcp_store_row *rows,
                    size_t count, bool last, const arcp_error *err)
{
    arcp__shard *shard = user;
    if (status != ARCP_OK && shard->restore_status == ARCP_OK) {
        shard->restore_status = status;
        if (err != NULL) {
            shard->restore_error = *err;
        }
    }
    for (size_t i = 0; i < count && shard->restore_status == ARCP_OK; i++) {
        if (read_id == ARCP_STORE_META && shard == shard->runtime->shards) {
            take_store_id(shard->runtime, &rows[i]);
        }
        shard->restore_status =
            arcp__engine_restore_row(shard->engine, (arcp_store_table)read_id, rows[i].key,
                                     rows[i].value, &shard->restore_error);
    }
    if (last || status != ARCP_OK) {
        shard->scans_under_way--;
    }
    arcp__shard_touch(shard);
}

static void on_wake(void *user)
{
    arcp__shard *shard = user;
    arcp_runtime *runtime = shard->runtime;
    if (!arcp__runtime_is_driven_here(runtime)) {
        if (!atomic_exchange(&shard->is_woken, true)) {
            arcp__shard *first = atomic_load(&runtime->woken);
            do {
                shard->next_woken = first;
            } while (!atomic_compare_exchange_weak(&runtime->woken, &first, shard));
        }
        (void)uv_async_send(&runtime->wake);
    } else if (runtime->current != shard) { /* whose store will be polled */
        arcp__shard_touch(shard);
    }
}

void arcp__shards_take_woken(arcp_runtime *runtime)
{
    arcp__shard *shard = atomic_exchange(&runtime->woken, NULL);
    while (shard != NULL) {
        arcp__shard *next = shard->next_woken;
        atomic_store(&shard->is_woken, false);
        (void)shard->store->ops->poll(shard->store);
        arcp__shard_touch(shard);
        shard = next;
    }
}

arcp_status arcp__shard_restore(arcp__shard *shard, arcp_error *err)
{
    static const arcp_store_table tables[] = {ARCP_STORE_SESSIONS,    ARCP_STORE_JOBS,
                                              ARCP_STORE_IDEMPOTENCY, ARCP_STORE_SUBSCRIPTIONS,
                                              ARCP_STORE_CREDENTIALS, ARCP_STORE_SCHEDULES,
                                              ARCP_STORE_OUTBOX,      ARCP_STORE_META};
    const arcp_store_callbacks callbacks = {
        .done = on_done, .read = on_read, .scan = on_scan, .wake = on_wake, .user = shard};
    const arcp_store_ops *ops = shard->store->ops;
    arcp_status status = ARCP_OK;
    ops->set_callbacks(shard->store, &callbacks);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && status == ARCP_OK; i++) {
        status =
            ops->scan(shard->store, (uint64_t)tables[i], tables[i], arcp_span_make(NULL, 0), err);
        shard->scans_under_way += status == ARCP_OK ? 1 : 0;
    }
    while (status == ARCP_OK && shard->scans_under_way != 0) {
        (void)ops->poll(shard->store);
        if (shard->scans_under_way != 0) {
            (void)uv_run(shard->runtime->loop, UV_RUN_ONCE);
        }
        status = shard->restore_status;
    }
    if (status == ARCP_OK) {
        arcp__engine_restore_done(shard->engine, arcp__clock_now());
        arcp__runtime_drive(shard->runtime);
        status = arcp__engine_restore_status(shard->engine, err);
    }
    while (status == ARCP_OK && !arcp__engine_is_restored(shard->engine)) {
        (void)uv_run(shard->runtime->loop, UV_RUN_ONCE);
        status = arcp__engine_restore_status(shard->engine, err);
    }
    /* The store's own error is more precise. */
    if (status != ARCP_OK && shard->restore_error.status != ARCP_OK) {
        (void)arcp_error_copy(err, &shard->restore_error);
    }
    return status;
}

/* ---- batches ---- */

bool arcp__shard_submit_batches(arcp__shard *shard)
{
    bool any = false;
    while (shard->batches_under_way < ARCP__BATCHES_MAX) {
        const arcp_store_batch *batch = arcp__engine_take_batch(shard->engine);
        if (batch == NULL) {
            break;
        }
        arcp_error error = {0};
        arcp__effect line;
        while (arcp__engine_next_line(shard->engine, &line)) {
            arcp__runtime_log_effect(shard->runtime, &line);
        }
        if (shard->runtime->options.audit_barrier != NULL) {
            shard->runtime->options.audit_barrier(shard->runtime->options.audit_barrier_user,
                                                  false);
        }
        const int64_t submitted_ns = arcp__clock_now().mono_ns;
        const arcp_status status = shard->store->ops->submit(shard->store, batch, &error);
        any = true;
        if (status != ARCP_OK) {
            arcp__runtime_log(shard->runtime, NULL, ARCP_LOG_ERROR, "store: %s", error.message);
            arcp__engine_committed(shard->engine, arcp__input_now(shard), batch->id, status);
            break;
        }
        shard->submitted_ns[shard->batches_under_way++] = submitted_ns;
    }
    return any;
}

/* With fewer changes a commit of their own is not worth it: it takes the disk nearly as long. */
#define WORTH_A_COMMIT 64u

bool arcp__shard_feed_store(arcp__shard *shard)
{
    if (arcp__engine_pending_changes(shard->engine) < WORTH_A_COMMIT) {
        return false;
    }
    const bool polls = shard->batches_under_way != 0 && !shard->has_polled;
    if (polls) {
        /* Completions wait for the audit log and cause further work, so poll once per round. */
        shard->has_polled = true;
        (void)shard->store->ops->poll(shard->store);
    }
    return (shard->batches_under_way == 0 && arcp__shard_submit_batches(shard)) || polls;
}
