#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/thread.h"
#include "runtime/agent_call.h"

/* When more than this waits for the loop, agents are blocked until little is left: all of them wake
 * at once, so it is worth it only seldom. */
#define WAITING_BYTES_MAX 4194304u
#define WAITING_BYTES_LOW 524288u
/* Messages of one agent that are taken before those of the next. */
#define MESSAGES_AT_A_TIME 32u
/* What is taken under the lock at once: agents that write wait for it. The turn may end only behind
 * it, so it is less than a millisecond's work. */
#define TAKEN_MESSAGES_MAX 256u
#define TAKEN_BYTES_MAX    262144u

static size_t cost(const arcp__agent_message *message)
{
    return message->size + sizeof *message;
}

static void message_free(arcp__agent_message *message)
{
    arcp_agent_call *call = message->call;
    if (message != &call->returned) {
        arcp__free(message);
    }
    arcp__agent_call_unref(call);
}

void arcp__agent_inbox_fini(arcp__agent_inbox *inbox)
{
    while (inbox->speaking != NULL) {
        const arcp_agent_call *call = inbox->speaking;
        arcp__agent_message *messages = call->messages;
        DL_DELETE2(inbox->speaking, call, previous_speaking, next_speaking);
        while (messages != NULL) {
            arcp__agent_message *message = messages;
            DL_DELETE(messages, message);
            message_free(message);
        }
    }
    while (inbox->awaiting_room != NULL) {
        arcp_agent_call *call = inbox->awaiting_room;
        DL_DELETE2(inbox->awaiting_room, call, previous_awaiting, next_awaiting);
        arcp__agent_call_unref(call);
    }
    (void)pthread_cond_destroy(&inbox->has_work);
    (void)pthread_cond_destroy(&inbox->changed);
    (void)pthread_mutex_destroy(&inbox->mutex);
    arcp__free(inbox->threads);
}

void arcp__agent_inbox_put(arcp__agent_message *message)
{
    arcp_agent_call *call = message->call;
    arcp_runtime *runtime = call->runtime;
    arcp__agent_inbox *inbox = &runtime->inbox;
    (void)pthread_mutex_lock(&inbox->mutex);
    const bool was_empty = inbox->speaking == NULL;
    if (call->messages == NULL) {
        DL_APPEND2(inbox->speaking, call, previous_speaking, next_speaking);
    }
    DL_APPEND(call->messages, message);
    inbox->bytes += cost(message);
    const bool closed = inbox->closed;
    (void)pthread_mutex_unlock(&inbox->mutex);
    if (arcp__runtime_is_driven_here(runtime)) {
        runtime->has_agent_messages = true;
    } else if (was_empty && !closed) {
        (void)uv_async_send(&runtime->wake);
    }
}

/* ---- room ---- */

/* Called with the inbox locked. */
static bool has_room(const arcp_agent_call *call)
{
    return (!atomic_load(&call->paused) || atomic_load(&call->port.is_over)) &&
           call->runtime->inbox.bytes <= WAITING_BYTES_MAX;
}

bool arcp__agent_inbox_check_room(arcp_agent_call *call)
{
    arcp__agent_inbox *inbox = &call->runtime->inbox;
    (void)pthread_mutex_lock(&inbox->mutex);
    const bool room = has_room(call);
    if (!room && !call->awaits_room && !inbox->closed) {
        call->awaits_room = true;
        (void)arcp__agent_call_ref(call);
        DL_APPEND2(inbox->awaiting_room, call, previous_awaiting, next_awaiting);
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
    return room;
}

void arcp__agent_inbox_notify(arcp_runtime *runtime)
{
    arcp__agent_inbox *inbox = &runtime->inbox;
    (void)pthread_mutex_lock(&inbox->mutex);
    arcp_agent_call *awaiting = inbox->awaiting_room;
    inbox->awaiting_room = NULL;
    while (awaiting != NULL) {
        arcp_agent_call *call = awaiting;
        const arcp_agent *agent = &call->entry->callback;
        const bool is_done = atomic_load(&call->is_done);
        DL_DELETE2(awaiting, call, previous_awaiting, next_awaiting);
        if (!is_done && !has_room(call)) {
            DL_APPEND2(inbox->awaiting_room, call, previous_awaiting, next_awaiting);
            continue;
        }
        call->awaits_room = false;
        (void)pthread_mutex_unlock(&inbox->mutex);
        if (!is_done && agent->drained != NULL) {
            agent->drained(call, agent->user);
        }
        arcp__agent_call_unref(call);
        (void)pthread_mutex_lock(&inbox->mutex);
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
}

bool arcp__agent_inbox_wait(arcp_agent_call *call, bool for_reply)
{
    arcp__agent_inbox *inbox = &call->runtime->inbox;
    (void)pthread_mutex_lock(&inbox->mutex);
    inbox->waiters++;
    while (!inbox->closed &&
           !(for_reply ? call->has_reply || atomic_load(&call->port.is_over) : has_room(call))) {
        (void)pthread_cond_wait(&inbox->changed, &inbox->mutex);
    }
    inbox->waiters--;
    const bool closed = inbox->closed;
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

/* ---- the loop's side ---- */

/* Moves a few messages of the agent whose turn it is; its further messages come after those of the
 * other agents. */
static void take_turn(arcp__agent_inbox *inbox, arcp__agent_message **messages, unsigned *count,
                      size_t bytes_left)
{
    arcp_agent_call *call = inbox->speaking;
    const size_t upto = inbox->bytes > bytes_left ? inbox->bytes - bytes_left : 0;
    for (unsigned i = 0; i < MESSAGES_AT_A_TIME && call->messages != NULL && inbox->bytes > upto;
         i++) {
        arcp__agent_message *message = call->messages;
        DL_DELETE(call->messages, message);
        DL_APPEND(*messages, message);
        inbox->bytes -= cost(message);
        ++*count;
    }
    DL_DELETE2(inbox->speaking, call, previous_speaking, next_speaking);
    if (call->messages != NULL) {
        DL_APPEND2(inbox->speaking, call, previous_speaking, next_speaking);
    }
}

/* Takes messages, the agents in turn. NULL: there are none. */
static arcp__agent_message *take_some(arcp__agent_inbox *inbox)
{
    (void)pthread_mutex_lock(&inbox->mutex);
    arcp__agent_message *messages = NULL;
    const size_t before = inbox->bytes;
    for (unsigned count = 0; inbox->speaking != NULL && count < TAKEN_MESSAGES_MAX &&
                             before - inbox->bytes < TAKEN_BYTES_MAX;) {
        take_turn(inbox, &messages, &count, TAKEN_BYTES_MAX - (before - inbox->bytes));
    }
    if (inbox->waiters != 0 && before > WAITING_BYTES_LOW && inbox->bytes <= WAITING_BYTES_LOW) {
        (void)pthread_cond_broadcast(&inbox->changed);
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
    return messages;
}

static void deliver(arcp__shard *shard, const arcp__agent_message *message, arcp_time now)
{
    arcp__job *job = message->call->job;
    switch (message->kind) {
    case ARCP__AGENT_MESSAGE:
        arcp__engine_agent_message(shard->engine, now, job, &message->content);
        break;
    case ARCP__AGENT_LINE:
        arcp__engine_agent_line(shard->engine, now, job, 0, message->content.body);
        break;
    case ARCP__AGENT_RETURNED: {
        /* If the result was lost, the job has not succeeded, whatever the result was. */
        arcp__agent_exit exit = {.code = message->is_lost ? 1 : 0};
        arcp__engine_agent_exited(shard->engine, now, job, &exit);
        break;
    }
    }
    arcp__shard_touch(shard);
}

bool arcp__agent_inbox_take(arcp_runtime *runtime)
{
    arcp__agent_inbox *inbox = &runtime->inbox;
    arcp__agent_message *messages = inbox->is_resting ? NULL : take_some(inbox);
    while (messages != NULL) {
        arcp_time now = arcp__clock_now();
        while (messages != NULL) {
            arcp__agent_message *message = messages;
            DL_DELETE(messages, message);
            inbox->is_resting = !arcp__turn_take(&inbox->turn, &inbox->share, message->size,
                                                 now.mono_ns, now.mono_ns);
            if (message->call->job != NULL) { /* else it has ended and was forgotten */
                arcp__shard *shard = arcp__shard_of(message->call->job);
                deliver(shard, message, now);
                if (arcp__shard_feed_store(shard)) {
                    now = arcp__clock_now();
                }
            }
            message_free(message);
        }
        messages = inbox->is_resting ? NULL : take_some(inbox);
    }
    if (inbox->is_resting) {
        (void)uv_async_send(&runtime->wake);
    }
    (void)pthread_mutex_lock(&inbox->mutex);
    const bool awaits_room = inbox->awaiting_room != NULL;
    (void)pthread_mutex_unlock(&inbox->mutex);
    return awaits_room;
}

/* ---- threads for blocking agents: created on demand and kept ---- */

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
        arcp__agent_call_finish(call, NULL);
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
    for (size_t i = 0; i < inbox->thread_count; i++) {
        (void)pthread_join(inbox->threads[i], NULL);
    }
}
