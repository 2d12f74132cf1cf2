#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "launch/sandbox_record.h"
#include "process/process_state.h"

#define PAUSE_MIN_MS 100u
#define PAUSE_MAX_MS 10000u

struct arcp__process_pool {
    arcp__process_pool_options options;
    arcp__agent_process *waiting;  /* oldest first */
    arcp__agent_process *starting; /* NULL: none */
    bool is_set_up;                /* it runs in its sandbox */
    size_t count;
    uint32_t pause_ms;
    uv_timer_t timer; /* starts the next one */
};

static void on_timer(uv_timer_t *timer);

static void fill_after(arcp__process_pool *pool, uint32_t pause_ms)
{
    if (pool->count < pool->options.size && pool->starting == NULL) {
        (void)uv_timer_start(&pool->timer, on_timer, pause_ms, 0);
    }
}

/* Doubles the pause before the next start. */
static void back_off(arcp__process_pool *pool)
{
    const uint32_t min =
        pool->options.pause_min_ms == 0 ? PAUSE_MIN_MS : pool->options.pause_min_ms;
    const uint32_t max =
        pool->options.pause_max_ms == 0 ? PAUSE_MAX_MS : pool->options.pause_max_ms;
    pool->pause_ms = pool->pause_ms == 0 ? min : pool->pause_ms * 2;
    if (pool->pause_ms > max) {
        pool->pause_ms = max;
    }
    fill_after(pool, pool->pause_ms);
}

/* ---- a waiting process ---- */

static void remove_waiting(arcp__agent_process *process)
{
    LL_DELETE2(process->pool->waiting, process, next_waiting);
    process->pool->count--;
}

static void on_log(void *user, arcp_span line)
{
    const arcp__process_pool *pool = ((arcp__agent_process *)user)->pool;
    pool->options.log(pool->options.user, line);
}

static void report_end(const arcp__process_pool *pool, const arcp__agent_process *process,
                       const arcp_process_exit *end)
{
    char text[512];
    const arcp_span failure = arcp_span_first(arcp__agent_process_failure(process, NULL), 300);
    (void)snprintf(text, sizeof text,
                   "a warm process of %s ended with %s %d before it got a job%s%.*s",
                   pool->options.spec->argv[0], end->by_signal ? "signal" : "status", end->code,
                   failure.size == 0 ? "" : ": sandbox: ", (int)failure.size,
                   failure.size == 0 ? "" : failure.data);
    pool->options.report(pool->options.user, false, text);
}

static void on_exited(void *user, const arcp_process_exit *end, arcp_span stderr_tail)
{
    arcp__agent_process *process = user;
    arcp__process_pool *pool = process->pool;
    (void)stderr_tail; /* its lines were already logged */
    report_end(pool, process, end);
    remove_waiting(process);
    arcp__agent_process_free(process);
    back_off(pool);
}

static void report_failure(arcp__process_pool *pool, const char *why)
{
    char text[512];
    (void)snprintf(text, sizeof text, "cannot start a warm process: %s", why);
    pool->options.report(pool->options.user, true, text);
    back_off(pool);
}

/* The process that was started waits for a job from now on. */
static void begin_waiting(arcp__process_pool *pool)
{
    arcp__agent_process *process = pool->starting;
    const arcp__agent_process_callbacks callbacks = {
        .log = on_log, .exited = on_exited, .user = process};
    pool->starting = NULL;
    process->pool = pool;
    arcp__agent_process_set_callbacks(process, &callbacks);
    LL_APPEND2(pool->waiting, process, next_waiting);
    pool->count++;
    fill_after(pool, pool->pause_ms);
}

/* ---- a process that is being started: its sandbox takes a while to set up ---- */

static void on_record(void *user, arcp_span record)
{
    arcp__process_pool *pool = user;
    if (arcp__sandbox_record_type(record) != ARCP__SANDBOX_RECORD_RUNNING) {
        return;
    }
    pool->options.running(pool->options.user);
    pool->is_set_up = true;
    /* The record can come before the report of the thread that has started the process. */
    if (arcp__agent_process_pid(pool->starting) != 0) {
        begin_waiting(pool);
    }
}

static void on_set_up_log(void *user, arcp_span line)
{
    const arcp__process_pool *pool = user;
    pool->options.log(pool->options.user, line);
}

static void on_set_up_failed(void *user, const arcp_process_exit *end, arcp_span stderr_tail)
{
    arcp__process_pool *pool = user;
    arcp__agent_process *process = pool->starting;
    (void)stderr_tail;
    report_end(pool, process, end);
    pool->starting = NULL;
    arcp__agent_process_free(process);
    back_off(pool);
}

static void on_started(void *user, arcp_status status, const char *why)
{
    arcp__process_pool *pool = user;
    arcp__agent_process *process = pool->starting;
    if (status != ARCP_OK) {
        pool->starting = NULL;
        report_failure(pool, why);
        arcp__agent_process_free(process);
        return;
    }
    /* Standard output is kept in the pipe for the job that the process will get. */
    arcp__agent_process_pause(process, true);
    if (pool->options.confine == NULL || pool->is_set_up) {
        begin_waiting(pool);
    }
}

static void on_timer(uv_timer_t *timer)
{
    char directory[4096];
    arcp__process_pool *pool = timer->data;
    if (pool->starting != NULL) {
        return; /* the next one begins when that one waits */
    }
    arcp_error error = {0};
    arcp_status status = ARCP_OK;
    arcp__process_spec spec = *pool->options.spec;
    const arcp__agent_process_callbacks callbacks = {.started = on_started,
                                                     .record = on_record,
                                                     .log = on_set_up_log,
                                                     .exited = on_set_up_failed,
                                                     .user = pool};
    pool->is_set_up = false;
    if (spec.makes_cwd) {
        const int written =
            snprintf(directory, sizeof directory, "%s/warm-%llu", spec.cwd,
                     (unsigned long long)arcp__process_table_number(pool->options.table));
        if (written < 0 || (size_t)written >= sizeof directory) {
            status =
                arcp_error_set(&error, ARCP_E_USAGE, "the path of the work directory is too long");
        }
        spec.cwd = directory;
    }
    if (status == ARCP_OK && pool->options.confine != NULL) {
        status = pool->options.confine(pool->options.user, &spec, &error);
    }
    if (status == ARCP_OK) {
        status = arcp__agent_process_start(pool->options.table, &spec, &callbacks, &pool->starting,
                                           &error);
    }
    if (pool->options.confined != NULL) {
        pool->options.confined(pool->options.user);
    }
    if (status != ARCP_OK) {
        report_failure(pool, error.message);
    }
}

/* ---- the pool ---- */

arcp_status arcp__process_pool_new(const arcp__process_pool_options *options,
                                   arcp__process_pool **out, arcp_error *err)
{
    arcp__process_pool *pool = arcp__alloc(sizeof *pool);
    if (pool == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    pool->options = *options;
    (void)uv_timer_init(options->table->loop, &pool->timer);
    uv_unref((uv_handle_t *)&pool->timer);
    pool->timer.data = pool;
    fill_after(pool, 0);
    *out = pool;
    return ARCP_OK;
}

arcp__agent_process *arcp__process_pool_take(arcp__process_pool *pool)
{
    arcp__agent_process *process = pool->waiting;
    /* Skip processes that have just ended; on_exited will follow for them. */
    while (process != NULL && arcp__agent_process_has_ended(process)) {
        process = process->next_waiting;
    }
    if (process != NULL) {
        remove_waiting(process);
        pool->pause_ms = 0; /* starting works, so the backoff ends */
        fill_after(pool, 0);
    }
    return process;
}

size_t arcp__process_pool_waiting(const arcp__process_pool *pool)
{
    return pool->count;
}

static void end_all(arcp__process_pool *pool)
{
    arcp__agent_process_free(pool->starting);
    pool->starting = NULL;
    while (pool->waiting != NULL) {
        arcp__agent_process *process = pool->waiting;
        remove_waiting(process);
        arcp__agent_process_free(process);
    }
}

void arcp__process_pool_renew(arcp__process_pool *pool)
{
    end_all(pool);
    fill_after(pool, 0);
}

static void on_timer_closed(uv_handle_t *handle)
{
    arcp__free(handle->data);
}

void arcp__process_pool_free(arcp__process_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    end_all(pool);
    uv_close((uv_handle_t *)&pool->timer, on_timer_closed);
}
