/* Drives the engines: performs their effects as sends, batches for their stores and calls of
 * agents. Only shards that got an input, or have a deadline that is over, are driven. */
#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/hash.h"
#include "runtime/runtime_state.h"

/* After a suspend, or when the wall clock was set, deadlines are met at most this late. */
#define CLOCK_CHECK_MS 5000u

static void call_agent(arcp_runtime *runtime, const arcp__effect *effect)
{
    arcp__agent_entry *entry = effect->job->live->host;
    void *agent = effect->job->live->user;
    const arcp__agent_host_ops *host = arcp__host_of(runtime, effect->job);
    if (effect->kind == ARCP__EFFECT_START_AGENT) {
        host->start(runtime, entry, effect->job, effect->text);
    } else if (agent == NULL) {
        return; /* the agent could not be started */
    } else if (effect->kind == ARCP__EFFECT_AGENT_LINE) {
        host->line(agent, effect->from, effect->id, effect->text);
    } else if (effect->kind == ARCP__EFFECT_CANCEL_AGENT) {
        host->cancel(agent, effect->from, effect->id, effect->text);
    } else if (effect->kind == ARCP__EFFECT_KILL_AGENT) {
        host->kill(agent, effect->grace_ms == 0);
    } else if (effect->kind == ARCP__EFFECT_REVOKE_AGENT) {
        if (host->revoke != NULL) {
            host->revoke(agent, (arcp_status)effect->reason);
        }
    } else if (effect->kind == ARCP__EFFECT_HOLD_STORED) {
        if (host->hold_stored != NULL) {
            host->hold_stored(agent, effect->text);
        }
    } else if (effect->kind == ARCP__EFFECT_FORGET_AGENT) {
        host->forget(agent);
    } else {
        host->pause(agent, effect->kind == ARCP__EFFECT_PAUSE_AGENT);
    }
}

static void authenticate(arcp_runtime *runtime, const arcp__effect *effect)
{
    const arcp__runtime_link *link = effect->link_user;
    arcp_connection_info info = arcp_connection_info_init();
    if (!arcp__runtime_authenticate_page(runtime, effect)) {
        link->connection->ops->info(link->connection, &info);
        arcp__authenticator_verify(runtime->authenticator, effect->id, effect->text,
                                   info.peer == NULL ? "a peer" : info.peer,
                                   arcp__clock_now().wall_ns);
    }
}

static void read_store(arcp__shard *shard, const arcp__effect *effect)
{
    arcp_error error = {0};
    assert(shard->store != NULL); /* a door reads nothing */
    if (shard->store->ops->read(shard->store, effect->id, effect->text, effect->from,
                                effect->count_max, effect->bytes_max, &error) != ARCP_OK) {
        arcp__engine_read_done(shard->engine, arcp__clock_now(), effect->id, error.status, 0, NULL,
                               0);
    }
}

static void perform(arcp__shard *shard, const arcp__effect *effect)
{
    arcp_runtime *runtime = shard->runtime;
    arcp__runtime_link *link = effect->link_user;
    char reason[124]; /* a close frame has room for 123 bytes */
    switch (effect->kind) {
    case ARCP__EFFECT_SEND:
        if (link->connection->ops->send(link->connection, effect->text) != ARCP_OK) {
            link->connection->ops->abort(link->connection);
        } else if (!link->is_touched) {
            link->is_touched = true;
            DL_APPEND2(runtime->touched, link, previous_touched, next_touched);
        }
        break;
    case ARCP__EFFECT_CLOSE:
        (void)snprintf(reason, sizeof reason, "%.*s", (int)effect->text.size,
                       effect->text.size == 0 ? "" : effect->text.data);
        link->connection->ops->close(link->connection, (arcp_close_code)effect->close_code, reason);
        break;
    case ARCP__EFFECT_RESUME_LINK:
        link->is_refused = false;
        arcp__runtime_link_resume(link);
        break;
    case ARCP__EFFECT_ADMIT_LINK:
        link->is_welcome = true;
        link->connection->ops->admit(link->connection);
        break;
    case ARCP__EFFECT_AUTHENTICATE:
        authenticate(runtime, effect);
        break;
    case ARCP__EFFECT_START_AGENT:
    case ARCP__EFFECT_AGENT_LINE:
    case ARCP__EFFECT_CANCEL_AGENT:
    case ARCP__EFFECT_KILL_AGENT:
    case ARCP__EFFECT_PAUSE_AGENT:
    case ARCP__EFFECT_RESUME_AGENT:
    case ARCP__EFFECT_REVOKE_AGENT:
    case ARCP__EFFECT_HOLD_STORED:
    case ARCP__EFFECT_FORGET_AGENT:
        call_agent(runtime, effect);
        break;
    case ARCP__EFFECT_READ:
        read_store(shard, effect);
        break;
    case ARCP__EFFECT_PROVISION:
        arcp__shard_provision(shard, effect->id);
        break;
    case ARCP__EFFECT_LOG:
        arcp__runtime_log_effect(runtime, effect);
        break;
    case ARCP__EFFECT_SPAN:
        runtime->options.trace_span(runtime->options.trace_span_user, effect->text);
        break;
    case ARCP__EFFECT_ASK_OWNER:
        arcp__shard_ask_owner(shard, effect);
        break;
    case ARCP__EFFECT_NOTIFY:
        arcp__shard_notify(shard, effect);
        break;
    }
}

/* ---- deadlines ---- */

/* Shards whose deadline is over are driven before the loop waits again; to check the clocks, all
 * that have one. */
static void on_timer(uv_timer_t *timer)
{
    arcp_runtime *runtime = timer->data;
    const int64_t now_ns = arcp__clock_now().mono_ns;
    int64_t until_ns = now_ns;
    if (now_ns - runtime->clocks_checked_ns >= CLOCK_CHECK_MS * ARCP_NS_PER_MS) {
        runtime->clocks_checked_ns = now_ns;
        until_ns = ARCP_TIME_NEVER - 1;
    }
    for (arcp__timer *due = arcp__timer_heap_pop_due(&runtime->deadlines, until_ns); due != NULL;
         due = arcp__timer_heap_pop_due(&runtime->deadlines, until_ns)) {
        arcp__shard_touch(due->owner);
    }
    runtime->is_dirty = true; /* so that the timer is armed again */
}

/* The driven shards' deadlines may have changed. */
static void note_deadlines(arcp_runtime *runtime)
{
    arcp__shard *shard = NULL;
    DL_FOREACH2(runtime->driven, shard, next_driven)
    {
        const int64_t deadline = arcp__engine_deadline(shard->engine);
        if (shard->deadline.place == 0 || shard->deadline.at_ns != deadline) {
            /* Only the first time can fail, in arcp__shards_new. */
            const arcp_status ignored =
                arcp__timer_arm(&runtime->deadlines, &shard->deadline, deadline);
            (void)ignored;
        }
    }
}

static void arm_timer(arcp_runtime *runtime, int64_t now_ns)
{
    note_deadlines(runtime);
    const int64_t deadline = arcp__timer_heap_next(&runtime->deadlines);
    if (deadline == ARCP_TIME_NEVER) {
        (void)uv_timer_stop(&runtime->timer);
        return;
    }
    const int64_t left_ns = deadline > now_ns ? deadline - now_ns : 0;
    uint64_t left_ms = (uint64_t)((left_ns + ARCP_NS_PER_MS - 1) / ARCP_NS_PER_MS);
    /* The loop's clock stops while the machine is suspended, but deadlines do not move; and the
     * wall clock may be set at any time. So check the clocks at least this often. */
    left_ms = left_ms < CLOCK_CHECK_MS ? left_ms : CLOCK_CHECK_MS;
    /* The timer starts from the loop's cached time, which may be old: it would fire too early. */
    uv_update_time(runtime->loop);
    (void)uv_timer_start(&runtime->timer, on_timer, left_ms, 0);
}

/* ---- the owner ---- */

static bool has_left_workers(const arcp_runtime *runtime)
{
    return runtime->worker_links == NULL || !arcp__shards_leave_workers(runtime) ||
           runtime->leave_workers(runtime->worker_links);
}

/* Calls `failed` and `stopped` of the runtime's owner, each once, and logs the end of a recording.
 */
static void notify_owner(arcp_runtime *runtime)
{
    if (!runtime->recorder_failure_logged && runtime->recorder != NULL &&
        arcp__recorder_has_failed(runtime->recorder)) {
        runtime->recorder_failure_logged = true;
        arcp__runtime_log(runtime, NULL, ARCP_LOG_ERROR,
                          "out of memory: recording has ended, and the trace can be played up to "
                          "there; restart the runtime to record again");
    }
    if (runtime->has_failed && !runtime->failure_reported) {
        /* The engine has closed its links; the next runtime continues from the store. */
        runtime->failure_reported = true;
        arcp__runtime_log(runtime, NULL, ARCP_LOG_ERROR,
                          "%s: every connection was closed, and nothing more is stored or started; "
                          "restart the runtime to continue from the store",
                          runtime->is_fenced ? "the store was taken over, or has lost commits"
                                             : "out of memory");
        /* The owner may stop the loop, which would write the closes later. */
        for (arcp__runtime_link *link = runtime->links; link != NULL; link = link->next) {
            link->connection->ops->flush(link->connection);
        }
        if (runtime->options.failed != NULL) {
            runtime->options.failed(runtime->options.failed_user);
        }
    }
    if (runtime->is_stopping && runtime->stopped != NULL && has_left_workers(runtime) &&
        arcp__shards_are_finished(runtime) && runtime->links == NULL) {
        if (arcp__shards_have_lost_store(runtime)) {
            arcp__runtime_log(runtime, NULL, ARCP_LOG_ERROR,
                              "stopped while the store was not writable; events not yet stored "
                              "(and never shown to a client) are lost");
        }
        void (*stopped)(void *) = runtime->stopped;
        runtime->stopped = NULL;
        stopped(runtime->stopped_user);
    }
}

/* ---- rounds ---- */

/* The runtime that this thread is driving; NULL: none. */
static _Thread_local const arcp_runtime *driven;

bool arcp__runtime_is_driven_here(const arcp_runtime *runtime)
{
    return driven == runtime;
}

/* Takes the messages of agents that run on the loop's thread and were called by an effect. */
static void take_agent_messages(arcp_runtime *runtime)
{
    if (runtime->has_agent_messages) {
        runtime->has_agent_messages = false;
        if (arcp__agent_inbox_take(runtime)) {
            (void)uv_async_send(&runtime->wake); /* its callback notifies the agents */
        }
    }
}

/* Sends everything that is queued for peers, and then frees agents whose jobs have ended, because
 * peers can read meanwhile. */
static void flush_and_forget(arcp_runtime *runtime)
{
    arcp__shard *shard = NULL;
    arcp__runtime_links_flush(runtime);
    DL_FOREACH2(runtime->driven, shard, next_driven)
    {
        arcp__effect effect;
        while (arcp__engine_next_forgotten(shard->engine, &effect)) {
            perform(shard, &effect);
            arcp__shard_touch(shard);
        }
    }
}

/* What concerns no shard, and may lead to inputs of shards. */
static void drive_host(arcp_runtime *runtime)
{
    if (arcp__authenticator_take(runtime->authenticator)) {
        runtime->is_dirty = true;
    }
    if (runtime->roles_are_due) { /* after what the former verifiers have accepted */
        runtime->roles_are_due = false;
        arcp__runtime_check_page_keys(runtime);
        for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
            arcp__engine_recheck_roles(shard->engine, arcp__input_now(shard));
        }
    }
}

static void leave_dirty(arcp__shard *shard)
{
    arcp_runtime *runtime = shard->runtime;
    if (shard->is_dirty) {
        shard->is_dirty = false;
        DL_DELETE2(runtime->dirty, shard, previous_dirty, next_dirty);
    }
}

static void drive_shard(arcp__shard *shard, arcp_time now)
{
    arcp_runtime *runtime = shard->runtime;
    arcp__effect effect;
    shard->has_polled = false;
    arcp__engine_tick(shard->engine, now);
    /* So the messages that an agent puts while it is called get into the same batch and write. */
    take_agent_messages(runtime);
    while (arcp__engine_next_effect(shard->engine, now, &effect)) {
        perform(shard, &effect);
        take_agent_messages(runtime);
        if (shard->store != NULL && arcp__shard_feed_store(shard)) {
            now = arcp__clock_now();
        }
    }
    drive_host(runtime);
    if (shard->store != NULL) {
        /* What was submitted needs no further round: its completion does. */
        (void)arcp__shard_submit_batches(shard);
        if (shard->store->ops->poll(shard->store)) {
            arcp__shard_touch(shard);
        }
    }
    if (arcp__engine_has_failed(shard->engine)) { /* it may have failed while making a batch */
        if (arcp__engine_is_finished(shard->engine)) {
            leave_dirty(shard);
        } else {
            arcp__shard_touch(shard);
        }
    }
}

/* One round, in which each dirty shard is driven once. True if another round is needed. */
static bool drive_once(arcp_runtime *runtime, arcp_time now)
{
    arcp__shard *last = runtime->dirty == NULL ? NULL : runtime->dirty->previous_dirty;
    runtime->is_dirty = false;
    if (last == NULL) {
        take_agent_messages(runtime);
        drive_host(runtime);
    }
    for (arcp__shard *shard = NULL; shard != last;) {
        shard = runtime->dirty;
        leave_dirty(shard);
        if (!shard->is_driven) {
            shard->is_driven = true;
            DL_APPEND2(runtime->driven, shard, previous_driven, next_driven);
        }
        runtime->current = shard;
        drive_shard(shard, now);
        runtime->current = NULL;
        now = shard == last ? now : arcp__clock_now();
    }
    if (runtime->places.is_freed) {
        arcp__shards_share_places(runtime);
    }
    return runtime->is_dirty || runtime->dirty != NULL || runtime->has_agent_messages;
}

/* Rounds in one turn of the loop, at most, so that other handles are not delayed. */
#define ROUNDS_MAX 64u

void arcp__runtime_drive(arcp_runtime *runtime)
{
    if (runtime->is_driving) {
        return;
    }
    const arcp_runtime *outer = driven;
    runtime->is_driving = true;
    driven = runtime;
    arcp_time now = arcp__clock_now();
    bool more = true;
    for (unsigned round = 0; more && round < ROUNDS_MAX; round++) {
        more = drive_once(runtime, now);
        if (!more) {
            flush_and_forget(runtime);
            more = runtime->is_dirty; /* the engines may have room for more */
        }
        now = arcp__clock_now();
    }
    driven = outer;
    if (more) {
        flush_and_forget(runtime);
        runtime->is_dirty = true;
        (void)uv_async_send(&runtime->wake);
    }
    arm_timer(runtime, now.mono_ns);
    while (runtime->driven != NULL) {
        arcp__shard *shard = runtime->driven;
        runtime->has_failed = runtime->has_failed || arcp__engine_has_failed(shard->engine);
        runtime->is_fenced = runtime->is_fenced || arcp__engine_is_fenced(shard->engine);
        shard->is_driven = false;
        DL_DELETE2(runtime->driven, shard, previous_driven, next_driven);
    }
    runtime->is_driving = false;
    notify_owner(runtime);
}
