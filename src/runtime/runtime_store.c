/* Connects the engine with the store: submits batches, passes completions on, and restores the
 * engine's state at start. */
#include "base/clock.h"
#include "base/ulid.h"
#include "core/exposition.h"
#include "gateway/gateway.h"
#include "runtime/runtime_state.h"

/* The buckets of the histogram arcp_commit_seconds. */
static const struct {
    int64_t upto_ns;
    const char *text; /* in seconds */
} buckets[ARCP__COMMIT_BUCKETS - 1] = {
    {100000, "0.0001"},  {250000, "0.00025"}, {500000, "0.0005"},  {1000000, "0.001"},
    {2500000, "0.0025"}, {5000000, "0.005"},  {10000000, "0.01"},  {25000000, "0.025"},
    {50000000, "0.05"},  {100000000, "0.1"},  {250000000, "0.25"}, {500000000, "0.5"},
    {1000000000, "1"},   {2500000000, "2.5"}, {5000000000, "5"},
};

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
    arcp_status status = runtime->store->ops->submit(runtime->store, &batch, err);
    runtime->restore_status = ARCP_OK;
    while (status == ARCP_OK && !runtime->store_id_is_stored) {
        (void)runtime->store->ops->poll(runtime->store);
        if (!runtime->store_id_is_stored && runtime->restore_status == ARCP_OK) {
            (void)uv_run(runtime->loop, UV_RUN_ONCE);
        }
        status = runtime->restore_status;
    }
    return status == ARCP_OK ? ARCP_OK : arcp_error_set(err, status, "the store cannot be written");
}

/* ---- completions ---- */

static void on_done(void *user, uint64_t batch_id, arcp_status status, const arcp_error *err)
{
    arcp_runtime *runtime = user;
    if (batch_id == STORE_ID_BATCH) {
        runtime->store_id_is_stored = status == ARCP_OK;
        runtime->restore_status = status;
        return;
    }
    const int64_t took_ns = arcp__clock_now().mono_ns - runtime->submitted_ns[0];
    size_t bucket = 0;
    while (bucket < ARCP__COMMIT_BUCKETS - 1 && took_ns > buckets[bucket].upto_ns) {
        bucket++;
    }
    runtime->commits.counts[bucket]++;
    runtime->commits.sum_ns += took_ns < 0 ? 0 : (uint64_t)took_ns;
    runtime->batches_under_way--;
    for (unsigned i = 0; i < runtime->batches_under_way; i++) {
        runtime->submitted_ns[i] = runtime->submitted_ns[i + 1];
    }
    runtime->batches++;
    if (status != ARCP_OK) {
        arcp__runtime_log(runtime, NULL, ARCP_LOG_ERROR, "store: %s",
                          err == NULL ? "" : err->message);
    }
    if (runtime->options.audit_barrier != NULL) {
        runtime->options.audit_barrier(runtime->options.audit_barrier_user, true);
    }
    arcp__engine_committed(runtime->engine, arcp__input_now(runtime), batch_id, status);
}

static void on_read(void *user, uint64_t read_id, arcp_status status, uint64_t first,
                    const arcp_span *records, size_t count, const arcp_error *err)
{
    arcp_runtime *runtime = user;
    if (status != ARCP_OK) {
        arcp__runtime_log(runtime, NULL, ARCP_LOG_ERROR, "store: %s",
                          err == NULL ? "" : err->message);
        if (err != NULL && !arcp__engine_is_restored(runtime->engine)) {
            runtime->restore_error = *err;
        }
    }
    arcp__engine_read_done(runtime->engine, arcp__input_now(runtime), read_id, status, first,
                           records, count);
}

static void on_scan(void *user, uint64_t read_id, arcp_status status, const arcp_store_row *rows,
                    size_t count, bool last, const arcp_error *err)
{
    arcp_runtime *runtime = user;
    if (status != ARCP_OK && runtime->restore_status == ARCP_OK) {
        runtime->restore_status = status;
        if (err != NULL) {
            runtime->restore_error = *err;
        }
    }
    for (size_t i = 0; i < count && runtime->restore_status == ARCP_OK; i++) {
        if (read_id == ARCP_STORE_META) {
            take_store_id(runtime, &rows[i]);
        }
        runtime->restore_status =
            arcp__engine_restore_row(runtime->engine, (arcp_store_table)read_id, rows[i].key,
                                     rows[i].value, &runtime->restore_error);
    }
    if (last || status != ARCP_OK) {
        runtime->scans_under_way--;
    }
    runtime->is_dirty = true;
}

static void on_wake(void *user)
{
    arcp_runtime *runtime = user;
    if (!arcp__runtime_is_driven_here(runtime)) { /* driving polls the store anyway */
        (void)uv_async_send(&runtime->wake);
    }
}

arcp_status arcp__runtime_restore(arcp_runtime *runtime, arcp_error *err)
{
    static const arcp_store_table tables[] = {ARCP_STORE_SESSIONS,    ARCP_STORE_JOBS,
                                              ARCP_STORE_IDEMPOTENCY, ARCP_STORE_SUBSCRIPTIONS,
                                              ARCP_STORE_CREDENTIALS, ARCP_STORE_SCHEDULES,
                                              ARCP_STORE_OUTBOX,      ARCP_STORE_META};
    const arcp_store_callbacks callbacks = {
        .done = on_done, .read = on_read, .scan = on_scan, .wake = on_wake, .user = runtime};
    const arcp_store_ops *ops = runtime->store->ops;
    arcp_status status = ARCP_OK;
    ops->set_callbacks(runtime->store, &callbacks);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && status == ARCP_OK; i++) {
        status =
            ops->scan(runtime->store, (uint64_t)tables[i], tables[i], arcp_span_make(NULL, 0), err);
        runtime->scans_under_way += status == ARCP_OK ? 1 : 0;
    }
    while (status == ARCP_OK && runtime->scans_under_way != 0) {
        (void)ops->poll(runtime->store);
        if (runtime->scans_under_way != 0) {
            (void)uv_run(runtime->loop, UV_RUN_ONCE);
        }
        status = runtime->restore_status;
    }
    if (status == ARCP_OK) {
        arcp__engine_restore_done(runtime->engine, arcp__clock_now());
        arcp__runtime_drive(runtime);
        status = arcp__engine_restore_status(runtime->engine, err);
    }
    while (status == ARCP_OK && !arcp__engine_is_restored(runtime->engine)) {
        (void)uv_run(runtime->loop, UV_RUN_ONCE);
        status = arcp__engine_restore_status(runtime->engine, err);
    }
    /* The store's own error is more precise. */
    if (status != ARCP_OK && runtime->restore_error.status != ARCP_OK) {
        (void)arcp_error_copy(err, &runtime->restore_error);
    }
    return status;
}

/* ---- batches ---- */

bool arcp__runtime_submit_batches(arcp_runtime *runtime)
{
    bool any = false;
    while (runtime->batches_under_way < ARCP__BATCHES_MAX) {
        const arcp_store_batch *batch = arcp__engine_take_batch(runtime->engine);
        if (batch == NULL) {
            break;
        }
        arcp_error error = {0};
        arcp__effect line;
        while (arcp__engine_next_line(runtime->engine, &line)) {
            arcp__runtime_log_effect(runtime, &line);
        }
        if (runtime->options.audit_barrier != NULL) {
            runtime->options.audit_barrier(runtime->options.audit_barrier_user, false);
        }
        const int64_t submitted_ns = arcp__clock_now().mono_ns;
        const arcp_status status = runtime->store->ops->submit(runtime->store, batch, &error);
        any = true;
        if (status != ARCP_OK) {
            arcp__runtime_log(runtime, NULL, ARCP_LOG_ERROR, "store: %s", error.message);
            arcp__engine_committed(runtime->engine, arcp__input_now(runtime), batch->id, status);
            break;
        }
        runtime->submitted_ns[runtime->batches_under_way++] = submitted_ns;
    }
    return any;
}

/* With fewer changes a commit of their own is not worth it: it takes the disk nearly as long. */
#define WORTH_A_COMMIT 64u

bool arcp__runtime_feed_store(arcp_runtime *runtime)
{
    if (arcp__engine_pending_changes(runtime->engine) < WORTH_A_COMMIT) {
        return false;
    }
    const bool polls = runtime->batches_under_way != 0 && !runtime->has_polled;
    if (polls) {
        /* Completions wait for the audit log and cause further work, so poll once per round. */
        runtime->has_polled = true;
        (void)runtime->store->ops->poll(runtime->store);
    }
    return (runtime->batches_under_way == 0 && arcp__runtime_submit_batches(runtime)) || polls;
}

/* ---- metrics: the engine's, and commit times ---- */

arcp_status arcp_runtime_write_metrics(const arcp_runtime *runtime, arcp_buf *out)
{
    uint64_t count = 0;
    arcp__engine_write_metrics(runtime->engine, out);
    arcp__exposition_family(out, ARCP__METRIC_COMMIT_SECONDS);
    for (size_t i = 0; i < ARCP__COMMIT_BUCKETS; i++) {
        const bool is_last = i == ARCP__COMMIT_BUCKETS - 1;
        const char *labels[] = {"le", is_last ? "+Inf" : buckets[i].text, NULL};
        count += runtime->commits.counts[i];
        arcp__exposition_u64(out, "arcp_commit_seconds_bucket", labels, count);
    }
    arcp_buf_append_format(out, "arcp_commit_seconds_sum %llu.%09llu\n",
                           (unsigned long long)(runtime->commits.sum_ns / ARCP_NS_PER_SEC),
                           (unsigned long long)(runtime->commits.sum_ns % ARCP_NS_PER_SEC));
    arcp__exposition_u64(out, "arcp_commit_seconds_count", NULL, count);
    arcp__confinement_write_metrics(runtime, out);
    arcp__gateway_write_metrics(runtime->gateway, out);
    return arcp_buf_status(out);
}

bool arcp_runtime_is_ready(const arcp_runtime *runtime, const char **why)
{
    return arcp__engine_is_ready(runtime->engine, why);
}
