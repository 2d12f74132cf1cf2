#include "runtime/agent_threads.h"

#include "base/hash.h"
#include "base/thread.h"

typedef struct work_item {
    struct work_item *prev, *next;
    void (*work)(void *user);
    void *user;
} work_item;

struct arcp__agent_threads {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    work_item *items;   /* the oldest first */
    pthread_t *threads; /* owned array */
    size_t count;
    size_t count_max;
    size_t idle;
    size_t waiting; /* items in the queue */
    bool stopping;
};

arcp__agent_threads *arcp__agent_threads_new(size_t threads_max)
{
    arcp__agent_threads *threads = arcp__alloc(sizeof(*threads));
    if (threads == NULL) {
        return NULL;
    }
    threads->threads = arcp__alloc_array(threads_max, sizeof(*threads->threads));
    if (threads->threads == NULL) {
        arcp__free(threads);
        return NULL;
    }
    threads->count_max = threads_max;
    (void)pthread_mutex_init(&threads->mutex, NULL);
    (void)pthread_cond_init(&threads->changed, NULL);
    return threads;
}

static void *run(void *argument)
{
    arcp__agent_threads *threads = argument;
    (void)pthread_mutex_lock(&threads->mutex);
    for (;;) {
        work_item *item = threads->items;
        if (item == NULL) {
            if (threads->stopping) {
                break;
            }
            threads->idle++;
            (void)pthread_cond_wait(&threads->changed, &threads->mutex);
            threads->idle--;
            continue;
        }
        DL_DELETE(threads->items, item);
        threads->waiting--;
        (void)pthread_mutex_unlock(&threads->mutex);
        item->work(item->user);
        arcp__free(item);
        (void)pthread_mutex_lock(&threads->mutex);
    }
    (void)pthread_mutex_unlock(&threads->mutex);
    return NULL;
}

static bool add_thread(arcp__agent_threads *threads)
{
    bool started = arcp__thread_start(&threads->threads[threads->count], NULL, run, threads) == 0;
    threads->count += started ? 1 : 0;
    return started;
}

bool arcp__agent_threads_run(arcp__agent_threads *threads, void (*work)(void *user), void *user)
{
    work_item *item = arcp__alloc(sizeof(*item));
    if (item == NULL) {
        return false;
    }
    *item = (work_item){.work = work, .user = user};
    (void)pthread_mutex_lock(&threads->mutex);
    bool can_run = threads->count != 0;
    if (threads->idle <= threads->waiting && threads->count < threads->count_max) {
        can_run = add_thread(threads) || can_run;
    }
    if (can_run) {
        DL_APPEND(threads->items, item);
        threads->waiting++;
        (void)pthread_cond_signal(&threads->changed);
    }
    (void)pthread_mutex_unlock(&threads->mutex);
    if (!can_run) {
        arcp__free(item);
    }
    return can_run;
}

void arcp__agent_threads_free(arcp__agent_threads *threads)
{
    if (threads == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&threads->mutex);
    threads->stopping = true;
    (void)pthread_cond_broadcast(&threads->changed);
    (void)pthread_mutex_unlock(&threads->mutex);
    for (size_t at = 0; at < threads->count; at++) {
        (void)pthread_join(threads->threads[at], NULL);
    }
    (void)pthread_cond_destroy(&threads->changed);
    (void)pthread_mutex_destroy(&threads->mutex);
    arcp__free(threads->threads);
    arcp__free(threads);
}
