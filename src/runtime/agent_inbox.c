#include "runtime/agent_inbox.h"
#include "base/clock.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "runtime/agent_call_state.h"

/* More than this waiting for the loop holds agents back, until half of it is taken. */
#define WAITING_BYTES_MAX 4194304u
/* So many messages of one agent are taken in one go. */
#define MESSAGES_IN_A_GO 32u

struct arcp__agent_inbox {
    arcp_runtime *runtime;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    arcp_agent_call *speaking; /* have messages; whose turn it is first */
    size_t bytes;              /* of all messages */
    arcp__turn turn;           /* the loop's thread only, as the next */
    arcp__turn_share share;    /* of all agents together */
    bool is_resting;           /* that was used up; likewise */
    arcp_agent_call *asking;   /* referenced; the oldest first */
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
    inbox->turn.limits = &arcp__turn_of_agents;
    (void)pthread_mutex_init(&inbox->mutex, NULL);
    (void)pthread_cond_init(&inbox->changed, NULL);
    return inbox;
}

static size_t cost(const arcp__agent_message *message)
{
    return message->size + sizeof(*message);
}

static void message_free(arcp__agent_message *message)
{
    arcp_agent_call *call = message->call;
    if (message != &call->bye) {
        arcp__free(message->reports);
        arcp__free(message);
    }
    arcp__agent_call_unref(call);
}

void arcp__agent_inbox_free(arcp__agent_inbox *inbox)
{
    if (inbox == NULL) {
        return;
    }
    while (inbox->speaking != NULL) {
        arcp_agent_call *call = inbox->speaking;
        arcp__agent_message *messages = call->messages;
        DL_DELETE2(inbox->speaking, call, previous_speaking, next_speaking);
        while (messages != NULL) {
            arcp__agent_message *message = messages;
            DL_DELETE(messages, message);
            message_free(message);
        }
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
    arcp_agent_call *call = message->call;
    (void)pthread_mutex_lock(&inbox->mutex);
    bool was_empty = inbox->speaking == NULL;
    if (call->messages == NULL) {
        DL_APPEND2(inbox->speaking, call, previous_speaking, next_speaking);
    }
    DL_APPEND(call->messages, message);
    inbox->bytes += cost(message);
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

void arcp__agent_inbox_lock(arcp__agent_inbox *inbox)
{
    (void)pthread_mutex_lock(&inbox->mutex);
}

void arcp__agent_inbox_unlock(arcp__agent_inbox *inbox)
{
    if (inbox->waiters != 0) {
        (void)pthread_cond_broadcast(&inbox->changed);
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
}

/* A few messages of the agent whose turn it is; the others come before its next ones. NULL: there
 * are none. */
static arcp__agent_message *take_some(arcp__agent_inbox *inbox)
{
    (void)pthread_mutex_lock(&inbox->mutex);
    arcp_agent_call *call = inbox->speaking;
    arcp__agent_message *messages = NULL;
    bool was_full = inbox->bytes > WAITING_BYTES_MAX / 2;
    if (call != NULL) {
        for (unsigned count = 0; count < MESSAGES_IN_A_GO && call->messages != NULL; count++) {
            arcp__agent_message *message = call->messages;
            DL_DELETE(call->messages, message);
            DL_APPEND(messages, message);
            inbox->bytes -= cost(message);
        }
        DL_DELETE2(inbox->speaking, call, previous_speaking, next_speaking);
        if (call->messages != NULL) {
            DL_APPEND2(inbox->speaking, call, previous_speaking, next_speaking);
        }
    }
    if (inbox->waiters != 0 && was_full && inbox->bytes <= WAITING_BYTES_MAX / 2) {
        (void)pthread_cond_broadcast(&inbox->changed);
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
    return messages;
}

/* Whether there is a share of the turn left for more. */
static bool deliver(arcp_runtime *runtime, arcp__agent_message *messages)
{
    arcp__agent_inbox *inbox = runtime->inbox;
    arcp_time now = arcp__clock_now();
    bool goes_on = true;
    while (messages != NULL) {
        arcp__agent_message *message = messages;
        DL_DELETE(messages, message);
        goes_on =
            arcp__turn_take(&inbox->turn, &inbox->share, message->size, now.mono_ns, now.mono_ns);
        arcp__agent_call_deliver(runtime, message, now);
        if (arcp__runtime_feed_store(runtime)) {
            now = arcp__clock_now();
        }
        message_free(message);
    }
    return goes_on;
}

bool arcp__agent_inbox_take(arcp_runtime *runtime)
{
    arcp__agent_inbox *inbox = runtime->inbox;
    arcp__agent_message *messages = inbox->is_resting ? NULL : take_some(inbox);
    while (messages != NULL) {
        inbox->is_resting = !deliver(runtime, messages);
        messages = inbox->is_resting ? NULL : take_some(inbox);
    }
    if (inbox->is_resting) {
        (void)uv_async_send(&runtime->wake);
    }
    (void)pthread_mutex_lock(&inbox->mutex);
    bool is_asked = inbox->asking != NULL;
    (void)pthread_mutex_unlock(&inbox->mutex);
    return is_asked;
}

void arcp__agent_inbox_next_turn(arcp__agent_inbox *inbox)
{
    inbox->is_resting = false;
    arcp__turn_next(&inbox->turn);
}
