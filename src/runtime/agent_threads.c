/* Threads for blocking agents: made on demand, kept, at most so many. */
#include "base/hash.h"
#include "base/thread.h"
#include "runtime/agent_call.h"

static void *run(void *argument)
{
    arcp__agent_inbox *inbox = argument;
    (void)pthread_mutex_lock(&inbox->mutex);
    for (;;) {
        arcp_agent_call *call = inbox->queued;
        if (call == NULL) {
            if (inbox->closed) {
                break;
            }
            inbox->idle++;
            (void)pthread_cond_wait(&inbox->has_work, &inbox->mutex);
            inbox->idle--;
            continue;
        }
        DL_DELETE2(inbox->queued, call, previous_queued, next_queued);
        inbox->queued_count--;
        (void)pthread_mutex_unlock(&inbox->mutex);
        call->entry->callback.run(call, call->entry->callback.user);
        arcp__agent_call_bye(call, NULL);
        arcp__agent_call_unref(call);
        (void)pthread_mutex_lock(&inbox->mutex);
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
    return NULL;
}

bool arcp__agent_threads_run(arcp_agent_call *call)
{
    arcp__agent_inbox *inbox = &call->runtime->inbox;
    (void)pthread_mutex_lock(&inbox->mutex);
    if (inbox->idle <= inbox->queued_count && inbox->thread_count < inbox->threads_max &&
        arcp__thread_start(&inbox->threads[inbox->thread_count], NULL, run, inbox) == 0) {
        inbox->thread_count++;
    }
    const bool can_run = inbox->thread_count != 0;
    if (can_run) {
        DL_APPEND2(inbox->queued, call, previous_queued, next_queued);
        inbox->queued_count++;
        (void)pthread_cond_signal(&inbox->has_work);
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
    return can_run;
}

void arcp__agent_threads_end(arcp_runtime *runtime)
{
    arcp__agent_inbox *inbox = &runtime->inbox;
    (void)pthread_mutex_lock(&inbox->mutex);
    inbox->closed = true;
    (void)pthread_cond_broadcast(&inbox->changed);
    (void)pthread_cond_broadcast(&inbox->has_work);
    (void)pthread_mutex_unlock(&inbox->mutex);
    for (size_t at = 0; at < inbox->thread_count; at++) {
        (void)pthread_join(inbox->threads[at], NULL);
    }
}
