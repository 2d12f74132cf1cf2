#include "process/process.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"

#define PAUSE_MIN_MS 100u
#define PAUSE_MAX_MS 10000u

typedef struct waiting_process {
    struct waiting_process *next;
    arcp__process_pool *pool;
    arcp__agent_process *process;
} waiting_process;

struct arcp__process_pool {
    arcp__process_pool_options options;
    waiting_process *waiting; /* the oldest first */
    size_t count;
    uint64_t made; /* names directories */
    uint32_t pause_ms;
    uv_timer_t timer; /* starts the next one */
};

static void say(const arcp__process_pool *pool, bool is_error, const char *format, ...)
    ARCP_PRINTF(3, 4);
static void say(const arcp__process_pool *pool, bool is_error, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    pool->options.say(pool->options.user, is_error, text);
}

static void on_timer(uv_timer_t *timer);

static void fill_after(arcp__process_pool *pool, uint32_t pause_ms)
{
    if (pool->count < pool->options.size) {
        (void)uv_timer_start(&pool->timer, on_timer, pause_ms, 0);
    }
}

/* It fails again and again: slower each time. */
static void back_off(arcp__process_pool *pool)
{
    uint32_t min = pool->options.pause_min_ms == 0 ? PAUSE_MIN_MS : pool->options.pause_min_ms;
    uint32_t max = pool->options.pause_max_ms == 0 ? PAUSE_MAX_MS : pool->options.pause_max_ms;
    pool->pause_ms = pool->pause_ms == 0 ? min : pool->pause_ms * 2;
    if (pool->pause_ms > max) {
        pool->pause_ms = max;
    }
    fill_after(pool, pool->pause_ms);
}

/* ---- a process that waits ---- */

static void on_log(void *user, arcp_span line)
{
    const waiting_process *waiting = user;
    waiting->pool->options.log(waiting->pool->options.user, line);
}

static void on_exited(void *user, const arcp_process_exit *end, arcp_span stderr_tail)
{
    waiting_process *waiting = user;
    arcp__process_pool *pool = waiting->pool;
    (void)stderr_tail; /* its lines were logged as they came */
    say(pool, false, "a waiting process of %s ended with %s %d before it got a job",
        pool->options.spec->argv[0], end->by_signal ? "signal" : "status", end->code);
    LL_DELETE(pool->waiting, waiting);
    pool->count--;
    arcp__agent_process_free(waiting->process);
    arcp__free(waiting);
    back_off(pool);
}

static void on_timer(uv_timer_t *timer)
{
    char directory[4096];
    arcp__process_pool *pool = timer->data;
    arcp_error error = {0};
    arcp__process_spec spec = *pool->options.spec;
    waiting_process *waiting = arcp__alloc(sizeof(*waiting));
    arcp_status status =
        waiting == NULL ? arcp_error_set(&error, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
    if (spec.makes_cwd) {
        int written = snprintf(directory, sizeof(directory), "%s/warm-%p-%llu", spec.cwd,
                               (void *)pool, (unsigned long long)pool->made++);
        if (written < 0 || (size_t)written >= sizeof(directory)) {
            status =
                arcp_error_set(&error, ARCP_E_USAGE, "the path of the work directory is too long");
        }
        spec.cwd = directory;
    }
    if (waiting != NULL && status == ARCP_OK) {
        status = arcp__agent_process_start(pool->options.table, &spec, &waiting->process, &error);
    }
    if (waiting == NULL || status != ARCP_OK) {
        arcp__free(waiting);
        say(pool, true, "no process can wait for jobs: %s", error.message);
        back_off(pool);
        return;
    }
    const arcp__agent_process_callbacks callbacks = {
        .log = on_log, .exited = on_exited, .user = waiting};
    waiting->pool = pool;
    /* Its output belongs to the job that it will have. */
    arcp__agent_process_pause(waiting->process, true);
    arcp__agent_process_set_callbacks(waiting->process, &callbacks);
    LL_APPEND(pool->waiting, waiting);
    pool->count++;
    fill_after(pool, pool->pause_ms);
}

/* ---- the pool ---- */

arcp_status arcp__process_pool_new(const arcp__process_pool_options *options,
                                   arcp__process_pool **out, arcp_error *err)
{
    arcp__process_pool *pool = arcp__alloc(sizeof(*pool));
    if (pool == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    pool->options = *options;
    (void)uv_timer_init(options->loop, &pool->timer);
    uv_unref((uv_handle_t *)&pool->timer);
    pool->timer.data = pool;
    fill_after(pool, 0);
    *out = pool;
    return ARCP_OK;
}

arcp__agent_process *arcp__process_pool_take(arcp__process_pool *pool)
{
    waiting_process *waiting = pool->waiting;
    /* One that has just died is not for a job; the pool is told of it in a moment. */
    while (waiting != NULL && arcp__agent_process_has_ended(waiting->process)) {
        waiting = waiting->next;
    }
    if (waiting == NULL) {
        return NULL;
    }
    arcp__agent_process *process = waiting->process;
    LL_DELETE(pool->waiting, waiting);
    pool->count--;
    arcp__free(waiting);
    pool->pause_ms = 0; /* this one lived long enough to be of use */
    fill_after(pool, 0);
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
    while (pool->waiting != NULL) {
        waiting_process *waiting = pool->waiting;
        pool->waiting = waiting->next;
        arcp__agent_process_free(waiting->process);
        arcp__free(waiting);
    }
    uv_close((uv_handle_t *)&pool->timer, on_timer_closed);
}
