/* The store's side of the runtime: completions, and what it holds at start. */
#include "base/clock.h"
#include "runtime/runtime_state.h"

static void on_done(void *user, uint64_t batch_id, arcp_status status, const arcp_error *err)
{
    arcp_runtime *runtime = user;
    arcp__runtime_note_commit(runtime, arcp__clock_now().mono_ns - runtime->submitted_ns[0]);
    runtime->batches_under_way--;
    for (unsigned at = 0; at < runtime->batches_under_way; at++) {
        runtime->submitted_ns[at] = runtime->submitted_ns[at + 1];
    }
    runtime->batches++;
    if (status != ARCP_OK) {
        arcp__runtime_log(runtime, ARCP_LOG_ERROR, "store: %s", err == NULL ? "" : err->message);
    }
    if (runtime->audit_barrier != NULL) {
        runtime->audit_barrier(runtime->audit_barrier_user, true);
    }
    arcp__engine_committed(runtime->engine, arcp__clock_now(), batch_id, status);
    runtime->is_dirty = true;
}

static void on_read(void *user, uint64_t read_id, arcp_status status, uint64_t first,
                    const arcp_span *records, size_t count, const arcp_error *err)
{
    arcp_runtime *runtime = user;
    if (status != ARCP_OK) {
        arcp__runtime_log(runtime, ARCP_LOG_ERROR, "store: %s", err == NULL ? "" : err->message);
        if (err != NULL && !arcp__engine_is_restored(runtime->engine)) {
            runtime->restore_error = *err;
        }
    }
    arcp__engine_read_done(runtime->engine, arcp__clock_now(), read_id, status, first, records,
                           count);
    runtime->is_dirty = true;
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
    for (size_t at = 0; at < count && runtime->restore_status == ARCP_OK; at++) {
        runtime->restore_status =
            arcp__engine_restore_row(runtime->engine, (arcp_store_table)read_id, rows[at].key,
                                     rows[at].value, &runtime->restore_error);
    }
    if (last || status != ARCP_OK) {
        runtime->scans_under_way--;
    }
    runtime->is_dirty = true;
}

static void on_wake(void *user)
{
    arcp_runtime *runtime = user;
    if (!arcp__runtime_is_driven_here(runtime)) { /* which polls the store anyway */
        (void)uv_async_send(&runtime->wake);
    }
}

void arcp__runtime_store_callbacks(arcp_runtime *runtime)
{
    arcp_store_callbacks callbacks = {
        .done = on_done, .read = on_read, .scan = on_scan, .wake = on_wake, .user = runtime};
    runtime->store->ops->set_callbacks(runtime->store, &callbacks);
}

static arcp_status scan_tables(arcp_runtime *runtime, arcp_error *err)
{
    static const arcp_store_table tables[] = {ARCP_STORE_SESSIONS, ARCP_STORE_JOBS,
                                              ARCP_STORE_IDEMPOTENCY, ARCP_STORE_SUBSCRIPTIONS,
                                              ARCP_STORE_CREDENTIALS};
    for (size_t at = 0; at < sizeof(tables) / sizeof(tables[0]); at++) {
        arcp_status status = runtime->store->ops->scan(runtime->store, (uint64_t)tables[at],
                                                       tables[at], arcp_span_make(NULL, 0), err);
        if (status != ARCP_OK) {
            return status;
        }
        runtime->scans_under_way++;
    }
    return ARCP_OK;
}

arcp_status arcp__runtime_restore(arcp_runtime *runtime, arcp_error *err)
{
    arcp_status status = scan_tables(runtime, err);
    while (status == ARCP_OK && runtime->scans_under_way != 0) {
        (void)runtime->store->ops->poll(runtime->store);
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
    /* The store knows best what is wrong with it. */
    if (status != ARCP_OK && err != NULL && runtime->restore_error.status != ARCP_OK) {
        *err = runtime->restore_error;
    }
    return status;
}
