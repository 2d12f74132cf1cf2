#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "process/process_state.h"

#define PAUSE_MIN_MS 100u
#define PAUSE_MAX_MS 10000u

struct arcp__process_pool {
    arcp__process_pool_options options;
    arcp__agent_process *waiting;  /* oldest first */
    arcp__agent_process *starting; /* NULL: none */
    size_t count;
    uint64_t made; /* number for the name of the next directory */
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

static void on_exited(void *user, const arcp_process_exit *end, arcp_span stderr_tail)
{
    char text[512];
    arcp__agent_process *process = user;
    arcp__process_pool *pool = process->pool;
    (void)stderr_tail; /* its lines were already logged */
    (void)snprintf(text, sizeof text, "a warm process of %s ended with %s %d before it got a job",
                   pool->options.spec->argv[0], end->by_signal ? "signal" : "status", end->code);
    pool->options.report(pool->options.user, false, text);
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

static void on_started(void *user, arcp_status status, const char *why)
{
    arcp__process_pool *pool = user;
    arcp__agent_process *process = pool->starting;
    const arcp__agent_process_callbacks callbacks = {
        .log = on_log, .exited = on_exited, .user = process};
    pool->starting = NULL;
    if (status != ARCP_OK) {
        report_failure(pool, why);
        arcp__agent_process_free(process);
        return;
    }
    process->pool = pool;
    /* Standard output is kept in the pipe for the job that the process will get. */
    arcp__agent_process_pause(process, true);
    arcp__agent_process_set_callbacks(process, &callbacks);
    LL_APPEND2(pool->waiting, process, next_waiting);
    pool->count++;
    fill_after(pool, pool->pause_ms);
}

static void on_timer(uv_timer_t *timer)
{
    char directory[4096];
    arcp__process_pool *pool = timer->data;
    arcp_error error = {0};
    arcp_status status = ARCP_OK;
    arcp__process_spec spec = *pool->options.spec;
    const arcp__agent_process_callbacks callbacks = {.started = on_started, .user = pool};
    if (spec.makes_cwd) {
        const int written = snprintf(directory, sizeof directory, "%s/warm-%p-%llu", spec.cwd,
                                     (void *)pool, (unsigned long long)pool->made++);
        if (written < 0 || (size_t)written >= sizeof directory) {
            status =
                arcp_error_set(&error, ARCP_E_USAGE, "the path of the work directory is too long");
        }
        spec.cwd = directory;
    }
    if (status == ARCP_OK) {
        status = arcp__agent_process_start(pool->options.table, &spec, &callbacks, &pool->starting,
                                           &error);
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

static void on_timer_closed(uv_handle_t *handle)
{
    arcp__free(handle->data);
}

void arcp__process_pool_free(arcp__process_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    arcp__agent_process_free(pool->starting);
    while (pool->waiting != NULL) {
        arcp__agent_process *process = pool->waiting;
        remove_waiting(process);
        arcp__agent_process_free(process);
    }
    uv_close((uv_handle_t *)&pool->timer, on_timer_closed);
}
