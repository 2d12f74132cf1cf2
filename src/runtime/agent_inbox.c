#include "runtime/agent_inbox.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "runtime/agent_call_state.h"

/* More than this waiting for the loop holds agents back. */
#define WAITING_BYTES_MAX 4194304u

struct arcp__agent_inbox {
    arcp_runtime *runtime;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    arcp__agent_message *first, *last;
    size_t bytes;
    arcp_agent_call *asking; /* referenced; the oldest first */
    unsigned waiters;
    bool closed;
};

arcp__agent_inbox *arcp__agent_inbox_new(arcp_runtime *runtime)
{
    arcp__agent_inbox *inbox = arcp__alloc(sizeof(*inbox));
    if (inbox == NULL) {
        return NULL;
    }
    inbox->runtime = runtime;
    (void)pthread_mutex_init(&inbox->mutex, NULL);
    (void)pthread_cond_init(&inbox->changed, NULL);
    return inbox;
}

static void message_free(arcp__agent_message *message)
{
    arcp__agent_call_unref(message->call);
    arcp__free(message->reports);
    arcp__free(message);
}

void arcp__agent_inbox_free(arcp__agent_inbox *inbox)
{
    if (inbox == NULL) {
        return;
    }
    while (inbox->first != NULL) {
        arcp__agent_message *message = inbox->first;
        inbox->first = message->next;
        message_free(message);
    }
    while (inbox->asking != NULL) {
        arcp_agent_call *call = inbox->asking;
        DL_DELETE2(inbox->asking, call, previous_asking, next_asking);
        arcp__agent_call_unref(call);
    }
    (void)pthread_cond_destroy(&inbox->changed);
    (void)pthread_mutex_destroy(&inbox->mutex);
    arcp__free(inbox);
}

void arcp__agent_inbox_close(arcp__agent_inbox *inbox)
{
    (void)pthread_mutex_lock(&inbox->mutex);
    inbox->closed = true;
    (void)pthread_cond_broadcast(&inbox->changed);
    (void)pthread_mutex_unlock(&inbox->mutex);
}

void arcp__agent_inbox_put(arcp__agent_inbox *inbox, arcp__agent_message *message)
{
    message->next = NULL;
    (void)pthread_mutex_lock(&inbox->mutex);
    bool was_empty = inbox->first == NULL;
    if (was_empty) {
        inbox->first = message;
    } else {
        inbox->last->next = message;
    }
    inbox->last = message;
    inbox->bytes += message->size + sizeof(*message);
    bool closed = inbox->closed;
    (void)pthread_mutex_unlock(&inbox->mutex);
    if (arcp__runtime_is_driven_here(inbox->runtime)) {
        inbox->runtime->is_told = true;
    } else if (was_empty && !closed) {
        (void)uv_async_send(&inbox->runtime->wake);
    }
}

bool arcp__agent_inbox_ask(arcp__agent_inbox *inbox, bool (*ready)(arcp_agent_call *call),
                           arcp_agent_call *call)
{
    (void)pthread_mutex_lock(&inbox->mutex);
    bool room = ready(call) && inbox->bytes <= WAITING_BYTES_MAX;
    if (!room && !call->asks_for_room && !inbox->closed) {
        call->asks_for_room = true;
        (void)arcp__agent_call_ref(call);
        DL_APPEND2(inbox->asking, call, previous_asking, next_asking);
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
    return room;
}

/* Whether it is told now; else it goes on asking. */
static bool stops_asking(arcp__agent_inbox *inbox, arcp_agent_call *call)
{
    (void)pthread_mutex_lock(&inbox->mutex);
    bool has_room = !atomic_load(&call->paused) && inbox->bytes <= WAITING_BYTES_MAX;
    bool stops = has_room || atomic_load(&call->is_done);
    call->asks_for_room = !stops;
    if (!stops) {
        DL_APPEND2(inbox->asking, call, previous_asking, next_asking);
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
    return stops;
}

void arcp__agent_inbox_tell_all(arcp__agent_inbox *inbox)
{
    (void)pthread_mutex_lock(&inbox->mutex);
    arcp_agent_call *asking = inbox->asking;
    inbox->asking = NULL;
    (void)pthread_mutex_unlock(&inbox->mutex);
    while (asking != NULL) {
        arcp_agent_call *call = asking;
        DL_DELETE2(asking, call, previous_asking, next_asking);
        if (stops_asking(inbox, call)) {
            arcp__agent_call_tell(call, call->entry->callback.drained);
            arcp__agent_call_unref(call);
        }
    }
}

bool arcp__agent_inbox_wait(arcp__agent_inbox *inbox, bool (*ready)(arcp_agent_call *call),
                            arcp_agent_call *call)
{
    (void)pthread_mutex_lock(&inbox->mutex);
    inbox->waiters++;
    while (!inbox->closed && !(ready(call) && inbox->bytes <= WAITING_BYTES_MAX)) {
        (void)pthread_cond_wait(&inbox->changed, &inbox->mutex);
    }
    inbox->waiters--;
    bool closed = inbox->closed;
    (void)pthread_mutex_unlock(&inbox->mutex);
    return !closed;
}

void arcp__agent_inbox_change(arcp__agent_inbox *inbox, void (*change)(void *user), void *user)
{
    (void)pthread_mutex_lock(&inbox->mutex);
    change(user);
    if (inbox->waiters != 0) {
        (void)pthread_cond_broadcast(&inbox->changed);
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
}

static arcp__agent_message *take_all(arcp__agent_inbox *inbox, bool *is_asked)
{
    (void)pthread_mutex_lock(&inbox->mutex);
    arcp__agent_message *messages = inbox->first;
    inbox->first = inbox->last = NULL;
    inbox->bytes = 0;
    *is_asked = inbox->asking != NULL;
    if (inbox->waiters != 0) {
        (void)pthread_cond_broadcast(&inbox->changed);
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
    return messages;
}

bool arcp__agent_inbox_take(arcp_runtime *runtime)
{
    bool is_asked = false;
    arcp__agent_message *messages = take_all(runtime->inbox, &is_asked);
    arcp_time now = arcp__runtime_now();
    while (messages != NULL) {
        arcp__agent_message *message = messages;
        messages = message->next;
        arcp__agent_call_deliver(runtime, message, now);
        if (arcp__runtime_feed_store(runtime)) {
            now = arcp__runtime_now();
        }
        message_free(message);
    }
    return is_asked;
}
