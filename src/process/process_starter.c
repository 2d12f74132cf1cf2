/* The thread that starts a table's programs, one after the other: a start blocks for about a
 * millisecond, which must not delay the loop.
 *
 * The kernel kills a program when the thread that started it ends, so this thread lives as long as
 * the table. It is created for the first program. */
#include "process/process_starter.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/thread.h"
#include "process/process_children.h"

struct arcp__starter {
    arcp_launcher *launcher; /* borrowed */
    arcp__start_done_fn done;
    size_t under_way; /* requested and not reported yet; used by the loop's thread only */
    bool has_thread;
    bool is_closing;
    void (*closed)(void *user);
    void *user;
    uv_async_t wake;
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t change;  /* of requested or is_over */
    arcp__start *requested; /* oldest first */
    arcp__start *finished;  /* oldest first */
    bool is_over;
};

static void start_free(arcp__start *start)
{
    arcp__arena_fini(&start->arena);
    arcp__free(start);
}

static void *run(void *user)
{
    arcp__starter *starter = user;
    (void)pthread_mutex_lock(&starter->lock);
    for (;;) {
        while (starter->requested == NULL && !starter->is_over) {
            (void)pthread_cond_wait(&starter->change, &starter->lock);
        }
        arcp__start *start = starter->requested;
        if (start == NULL) {
            break;
        }
        LL_DELETE(starter->requested, start);
        (void)pthread_mutex_unlock(&starter->lock);
        arcp__children_begin();
        start->status = starter->launcher->ops->start(starter->launcher, &start->spec,
                                                      &start->process, &start->error);
        arcp__children_add(start->status == ARCP_OK ? start->process->pid : 0);
        (void)pthread_mutex_lock(&starter->lock);
        LL_APPEND(starter->finished, start);
        (void)uv_async_send(&starter->wake);
    }
    (void)pthread_mutex_unlock(&starter->lock);
    return NULL;
}

static void on_closed(uv_handle_t *handle)
{
    const arcp__starter *starter = handle->data;
    starter->closed(starter->user);
}

static void close_when_done(arcp__starter *starter)
{
    if (starter->is_closing && starter->under_way == 0 &&
        !uv_is_closing((uv_handle_t *)&starter->wake)) {
        uv_close((uv_handle_t *)&starter->wake, on_closed);
    }
}

static void on_wake(uv_async_t *wake)
{
    arcp__starter *starter = wake->data;
    (void)pthread_mutex_lock(&starter->lock);
    arcp__start *finished = starter->finished;
    starter->finished = NULL;
    (void)pthread_mutex_unlock(&starter->lock);
    while (finished != NULL) {
        arcp__start *start = finished;
        LL_DELETE(finished, start);
        if (--starter->under_way == 0) {
            uv_unref((uv_handle_t *)wake);
        }
        starter->done(start);
        start_free(start);
    }
    close_when_done(starter);
}

arcp__starter *arcp__starter_new(uv_loop_t *loop, arcp_launcher *launcher, arcp__start_done_fn done,
                                 void (*closed)(void *user), void *user)
{
    arcp__starter *starter = arcp__alloc(sizeof *starter);
    if (starter == NULL || uv_async_init(loop, &starter->wake, on_wake) != 0) {
        arcp__free(starter);
        return NULL;
    }
    starter->launcher = launcher;
    starter->done = done;
    starter->closed = closed;
    starter->user = user;
    starter->wake.data = starter;
    uv_unref((uv_handle_t *)&starter->wake);
    (void)pthread_mutex_init(&starter->lock, NULL);
    (void)pthread_cond_init(&starter->change, NULL);
    return starter;
}

/* ---- copying the specification ---- */

static const char *copy_text(arcp__start *start, const char *text)
{
    const arcp_span copy = arcp__arena_copy(&start->arena, arcp_span_make(text, strlen(text) + 1));
    start->failed = start->failed || copy.data == NULL;
    return copy.data;
}

/* Copies a NULL-terminated list; NULL is an empty one. */
static const char *const *copy_texts(arcp__start *start, const char *const *texts)
{
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL) {
        count++;
    }
    const char **copy = arcp__arena_take(&start->arena, (count + 1) * sizeof *copy);
    if (copy == NULL) {
        start->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        copy[i] = copy_text(start, texts[i]);
    }
    copy[count] = NULL;
    return copy;
}

static void copy_confinement(arcp__start *start, const arcp_confinement *confinement)
{
    start->confinement = *confinement;
    start->confinement.plan = arcp__arena_copy(&start->arena, confinement->plan);
    start->failed = start->failed || start->confinement.plan.data == NULL;
    if (confinement->etc != NULL) {
        start->confinement.etc = copy_text(start, confinement->etc);
    }
    if (confinement->ca_certificate != NULL) {
        start->confinement.ca_certificate = copy_text(start, confinement->ca_certificate);
    }
    start->spec.confinement = &start->confinement;
}

static arcp__start *start_new(const arcp_launch_spec *spec, void *owner)
{
    arcp__start *start = arcp__alloc(sizeof *start);
    if (start == NULL) {
        return NULL;
    }
    start->owner = owner;
    start->spec = *spec;
    start->spec.argv = copy_texts(start, spec->argv);
    start->spec.env = copy_texts(start, spec->env);
    start->spec.cwd = spec->cwd == NULL ? NULL : copy_text(start, spec->cwd);
    start->spec.user = spec->user == NULL ? NULL : copy_text(start, spec->user);
    if (spec->limit_count != 0) {
        const size_t bytes = spec->limit_count * sizeof *spec->limits;
        arcp_launch_limit *limits = arcp__arena_take(&start->arena, bytes);
        start->failed = start->failed || limits == NULL;
        if (limits != NULL) {
            memcpy(limits, spec->limits, bytes);
        }
        start->spec.limits = limits;
    }
    /* Descriptors of cgroups are borrowed from the process, which outlives the start. */
    if (spec->confinement != NULL) {
        copy_confinement(start, spec->confinement);
    }
    if (start->failed) {
        start_free(start);
        return NULL;
    }
    return start;
}

arcp_status arcp__starter_request(arcp__starter *starter, const arcp_launch_spec *spec, void *owner,
                                  arcp_error *err)
{
    if (!starter->has_thread) {
        const int result = arcp__thread_start(&starter->thread, "arcp-starter", run, starter);
        if (result != 0) {
            return arcp_error_set(err, ARCP_E_IO, "cannot create a thread: %s", strerror(result));
        }
        starter->has_thread = true;
    }
    arcp__start *start = start_new(spec, owner);
    if (start == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (starter->under_way++ == 0) {
        uv_ref((uv_handle_t *)&starter->wake); /* keeps the loop running until it is reported */
    }
    (void)pthread_mutex_lock(&starter->lock);
    LL_APPEND(starter->requested, start);
    (void)pthread_cond_signal(&starter->change);
    (void)pthread_mutex_unlock(&starter->lock);
    return ARCP_OK;
}

bool arcp__starter_is_busy(const arcp__starter *starter)
{
    return starter->under_way != 0;
}

void arcp__starter_close(arcp__starter *starter)
{
    starter->is_closing = true;
    close_when_done(starter);
}

void arcp__starter_free(arcp__starter *starter)
{
    assert(starter->under_way == 0);
    (void)pthread_mutex_lock(&starter->lock);
    starter->is_over = true;
    (void)pthread_cond_signal(&starter->change);
    (void)pthread_mutex_unlock(&starter->lock);
    if (starter->has_thread) {
        (void)pthread_join(starter->thread, NULL);
    }
    (void)pthread_mutex_destroy(&starter->lock);
    (void)pthread_cond_destroy(&starter->change);
    arcp__free(starter);
}
