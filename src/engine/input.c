/* The inputs, except those of a restart (restore.c). Each has three steps: set the time, make one
 * call down, settle (deliver queued messages until there are none). The layers below call none of
 * these three.
 *
 * When an allocation fails during an input, the engine has failed for good: the input may be half
 * done, so later inputs are ignored, no batch is handed out, and the only effects are log lines and
 * the closes of its links. The owner starts a new engine from the store. */
#include "engine/state.h"

bool arcp__engine_begin(arcp__engine *engine, arcp_time now)
{
    arcp__context_set_time(&engine->context, now);
    arcp__figures_turn(&engine->sessions);
    return !engine->context.failed;
}

static bool has_messages(const arcp__engine *engine)
{
    return engine->sessions.notification_end != 0 || engine->jobs.over_limit != NULL ||
           engine->sessions.scheduled != NULL;
}

void arcp__engine_settle(arcp__engine *engine)
{
    bool is_placing = false;
    do {
        arcp__notifications_deliver(&engine->sessions);
        arcp__jobs_end_over_limit(&engine->jobs);
        arcp__sessions_run_scheduled(&engine->sessions);
        arcp__schedules_run(&engine->schedules);
        is_placing = arcp__jobs_place(&engine->jobs);
        /* Not only after a commit, because a store that stalls commits nothing. */
        arcp__jobs_update_pressure(&engine->jobs);
    } while ((has_messages(engine) || is_placing) && !engine->context.failed &&
             !engine->context.closing);
    arcp__watches_wake(&engine->sessions);
    if (engine->restore == NULL && !engine->context.closing) {
        arcp__hooks_run(&engine->hooks);
        arcp__jobs_evict_oldest(&engine->jobs);
    }
}

/* ---- links ---- */

arcp__link *arcp__engine_connect(arcp__engine *engine, arcp_time now,
                                 const arcp__link_options *options)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_CONNECT, .now = now, .what = options);
    if (!arcp__engine_begin(engine, now)) {
        return NULL;
    }
    arcp__link *link = arcp__link_new(&engine->sessions, options);
    arcp__engine_settle(engine);
    ARCP__RECORD(engine, .kind = ARCP__CALL_LINK, .link = link, .what = options);
    return link;
}

bool arcp__engine_receive(arcp__engine *engine, arcp_time now, arcp__link *link, arcp_span frame)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_RECEIVE, .now = now, .link = link, .texts = {frame});
    if (!arcp__engine_begin(engine, now)) {
        return false;
    }
    arcp__link_receive(&engine->sessions, link, frame);
    arcp__engine_settle(engine);
    return arcp__record_bool(engine, arcp__link_takes_more(&engine->sessions, link));
}

bool arcp__engine_frame_took(arcp__engine *engine, arcp_time now, arcp__link *link, int64_t took_ns)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_FRAME_TOOK, .now = now, .link = link,
                 .numbers = {(uint64_t)took_ns});
    return arcp__record_bool(engine, arcp__engine_begin(engine, now) &&
                                         arcp__link_took(&engine->sessions, link, took_ns));
}

bool arcp__engine_takes_frames(arcp__engine *engine, arcp__link *link)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_TAKES_FRAMES, .link = link);
    return arcp__record_bool(engine, !engine->context.failed &&
                                         arcp__link_takes_more(&engine->sessions, link));
}

void arcp__engine_drained(arcp__engine *engine, arcp_time now, arcp__link *link, size_t unsent)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_DRAINED, .now = now, .link = link, .numbers = {unsent});
    if (arcp__engine_begin(engine, now)) {
        arcp__link_drained(&engine->sessions, link, unsent);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_input_over(arcp__engine *engine, arcp_time now, arcp__link *link)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_INPUT_OVER, .now = now, .link = link);
    if (arcp__engine_begin(engine, now)) {
        arcp__link_input_over(&engine->sessions, link);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_disconnect(arcp__engine *engine, arcp_time now, arcp__link *link)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_DISCONNECT, .now = now, .link = link);
    if (arcp__engine_begin(engine, now)) {
        arcp__link_disconnect(&engine->sessions, link);
        arcp__engine_settle(engine);
    } else {
        arcp__link_disconnect_failed(link);
    }
}

void arcp__engine_authenticated(arcp__engine *engine, arcp_time now, uint64_t auth_id,
                                const arcp__authentication *result)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AUTHENTICATED, .now = now,
                 .numbers = {auth_id, (uint64_t)result->status,
                             (uint64_t)result->role << 1 | result->is_anonymous,
                             (uint64_t)result->origin.expires_wall_ns},
                 .texts = {result->principal, arcp_span_make((const char *)result->origin.hash,
                                                             sizeof result->origin.hash)});
    if (!arcp__engine_begin(engine, now)) {
        return;
    }
    arcp__link *link = arcp__link_authenticated(&engine->sessions, auth_id, result);
    arcp__engine_settle(engine);
    if (link != NULL) {
        arcp__link_resume(&engine->sessions, link);
    }
}

bool arcp__engine_hand_over(arcp__engine *engine, arcp_time now, uint64_t auth_id,
                            arcp__handover *out)
{
    return arcp__engine_begin(engine, now) && arcp__link_hand_over(&engine->sessions, auth_id, out);
}

void arcp__engine_places_freed(arcp__engine *engine, arcp_time now)
{
    if (arcp__engine_begin(engine, now)) {
        arcp__placement_recheck(&engine->jobs.placement);
        arcp__engine_settle(engine);
    }
}

bool arcp__engine_knows_page(arcp__engine *engine, arcp_span token)
{
    return arcp__page_is_known(&engine->sessions, token);
}

void arcp__engine_owner_answered(arcp__engine *engine, arcp_time now, uint64_t id,
                                 arcp_status status, arcp_span text)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_OWNER_ANSWERED, .now = now,
                 .numbers = {id, (uint64_t)status}, .texts = {text});
    if (arcp__engine_begin(engine, now)) {
        arcp__sessions_owner_answered(&engine->sessions, id, status, text);
        arcp__engine_settle(engine);
    }
}

const arcp__page_key *arcp__engine_page_key_next(const arcp__engine *engine,
                                                 const arcp__page_key *after)
{
    return arcp__page_key_next(&engine->sessions, after);
}

void arcp__engine_page_key_checked(arcp__engine *engine, arcp_time now, const uint8_t hash[32],
                                   bool is_valid)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_PAGE_KEY_CHECKED, .now = now, .numbers = {is_valid},
                 .texts = {arcp_span_make((const char *)hash, 32)});
    if (arcp__engine_begin(engine, now)) {
        arcp__page_key_checked(&engine->sessions, hash, is_valid);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_recheck_roles(arcp__engine *engine, arcp_time now)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_RECHECK_ROLES, .now = now);
    if (arcp__engine_begin(engine, now)) {
        arcp__links_recheck_roles(&engine->sessions);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_refused(arcp__engine *engine, arcp_time now, const arcp__refusal *refusal,
                          const char *reason)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_REFUSED, .now = now,
                 .numbers = {(uint64_t)refusal->code, refusal->is_audited, refusal->is_logged,
                             refusal->is_trouble},
                 .texts = {arcp_span_cstr(refusal->peer), arcp_span_cstr(refusal->rule),
                           arcp_span_cstr(reason)});
    if (arcp__engine_begin(engine, now)) {
        arcp__refusal_note(&engine->sessions, refusal, reason);
        arcp__engine_settle(engine);
    }
}

/* ---- store and provisioner ---- */

void arcp__engine_committed(arcp__engine *engine, arcp_time now, uint64_t batch_id,
                            arcp_status status)
{
    arcp_error error = {0};
    ARCP__RECORD(engine, .kind = ARCP__CALL_COMMITTED, .now = now,
                 .numbers = {batch_id, (uint64_t)status});
    if (!arcp__engine_begin(engine, now)) {
        return;
    }
    if (status == ARCP_E_FENCED) { /* nothing can be stored any more, so nothing may go on */
        engine->context.fenced = true;
        engine->context.failed = true;
        arcp__engine_settle(engine);
        return;
    }
    switch (arcp__log_committed(engine->log, batch_id, status)) {
    case ARCP__COMMIT_DONE:
        arcp__figures_committed(&engine->sessions, engine->log->commit_ns);
        arcp__sessions_durable(&engine->sessions);
        arcp__jobs_committed(&engine->jobs);
        break;
    case ARCP__COMMIT_BEGAN_TO_FAIL: /* nothing new may be shown until the store can write */
        (void)arcp_error_set(&error, ARCP_E_INTERNAL_ERROR,
                             "the runtime cannot store events right now; resume later");
        arcp__links_fail(&engine->sessions, &error, 1011);
        arcp__jobs_update_pressure(&engine->jobs);
        arcp__jobs_release_stops(&engine->jobs);
        break;
    case ARCP__COMMIT_PENDING:
        break;
    }
    arcp__engine_settle(engine);
}

arcp__provision_verb arcp__engine_provision_request(arcp__engine *engine, uint64_t call_id,
                                                    arcp_provision_request *out)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_PROVISION_REQUEST, .numbers = {call_id});
    const arcp__provision_verb verb = arcp__credential_request(&engine->credentials, call_id, out);
    ARCP__RECORD(engine, .kind = ARCP__CALL_REQUEST, .numbers = {(uint64_t)verb}, .what = out);
    return verb;
}

void arcp__engine_provision_sent(arcp__engine *engine)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_PROVISION_SENT);
    arcp__credential_request_sent(&engine->credentials);
}

void arcp__engine_provisioned(arcp__engine *engine, arcp_time now,
                              const arcp_provision_result *result)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_PROVISIONED, .now = now, .what = result);
    if (arcp__engine_begin(engine, now)) {
        arcp__credential_answered(&engine->credentials, result);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_notified(arcp__engine *engine, arcp_time now, uint64_t id, arcp_status status,
                           arcp_span message)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_NOTIFIED, .now = now, .numbers = {id, (uint64_t)status},
                 .texts = {message});
    if (arcp__engine_begin(engine, now)) {
        arcp__hooks_notified(&engine->hooks, id, status, message);
        arcp__engine_settle(engine);
    }
}

/* ---- time ---- */

/* How long links have, once no job is left, to send the last events, above all how the last jobs
 * ended. */
#define DRAIN_NS (5 * ARCP_NS_PER_SEC)
/* The same when jobs go on: their clients come back for the rest. */
#define DRAIN_KEEPING_NS (ARCP_NS_PER_SEC / 2)

static void finish_stopping(arcp__engine *engine)
{
    if (!engine->context.stopping || arcp__jobs_left(&engine->jobs) != 0) {
        return;
    }
    if (!engine->stopped) {
        engine->stopped = true;
        arcp__context_arm(&engine->context, &engine->shutdown_timer, ARCP__TIMER_SHUTDOWN, engine,
                          engine->context.now.mono_ns +
                              (engine->jobs.leaves_workers ? DRAIN_KEEPING_NS : DRAIN_NS));
    }
    arcp__links_stop(&engine->sessions, engine->drain_is_over);
}

static void dispatch(arcp__engine *engine, arcp__timer *timer)
{
    switch ((arcp__timer_kind)timer->kind) {
    case ARCP__TIMER_LINK:
    case ARCP__TIMER_SESSION:
    case ARCP__TIMER_REFUSALS:
        arcp__sessions_due(&engine->sessions, timer);
        break;
    case ARCP__TIMER_JOB:
        arcp__job_due(&engine->jobs, timer);
        break;
    case ARCP__TIMER_WORKER:
        arcp__worker_due(&engine->jobs, timer);
        break;
    case ARCP__TIMER_CREDENTIAL:
        arcp__credential_due(&engine->credentials, timer);
        break;
    case ARCP__TIMER_SCHEDULE:
        arcp__schedule_due(&engine->schedules, timer);
        break;
    case ARCP__TIMER_HOOK:
        arcp__hook_due(&engine->hooks, timer);
        break;
    case ARCP__TIMER_SWEEP:
        /* Once a minute; again at once when one input could not do all of it. */
        arcp__context_arm(
            &engine->context, timer, ARCP__TIMER_SWEEP, engine,
            arcp__context_after_ms(&engine->context, arcp__jobs_sweep(&engine->jobs) ? 1 : 60000));
        break;
    case ARCP__TIMER_STORE_RETRY:
        break; /* arcp__log_take checks it */
    case ARCP__TIMER_SHUTDOWN:
        engine->drain_is_over = engine->stopped;
        arcp__jobs_stop(&engine->jobs, false);
        break;
    }
}

/* How far the wall clock may move against the monotonic clock before expiries are checked. */
#define WALL_STEP_NS (100 * ARCP_NS_PER_MS)

/* Timers run on the monotonic clock, so expiries are checked when the wall clock is set. A clock
 * that is only slewed does not justify going through all jobs. */
static void watch_wall_clock(arcp__engine *engine)
{
    int64_t ahead_ns = 0;
    int64_t moved_ns = 0;
    if (engine->restore != NULL) {
        return; /* no job may end before its stream is restored */
    }
    if (__builtin_sub_overflow(engine->context.now.wall_ns, engine->context.now.mono_ns,
                               &ahead_ns) ||
        __builtin_sub_overflow(ahead_ns, engine->wall_ahead_ns, &moved_ns) ||
        (moved_ns < WALL_STEP_NS && moved_ns > -WALL_STEP_NS)) {
        return;
    }
    engine->wall_ahead_ns = ahead_ns;
    arcp__jobs_wall_clock_set(&engine->jobs);
    arcp__schedules_wall_clock_set(&engine->schedules);
    arcp__engine_settle(engine);
}

void arcp__engine_tick(arcp__engine *engine, arcp_time now)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_TICK, .now = now);
    if (!arcp__engine_begin(engine, now)) {
        return;
    }
    watch_wall_clock(engine);
    arcp__timer *timer = NULL;
    bool is_settled = false;
    while (!engine->context.failed &&
           (timer = arcp__timer_heap_pop_due(&engine->context.timers,
                                             engine->context.now.mono_ns)) != NULL) {
        dispatch(engine, timer);
        arcp__engine_settle(engine);
        is_settled = true;
    }
    if (!is_settled) {
        arcp__engine_settle(engine); /* a reload may have made room for queued jobs */
    }
    arcp__links_close_finished(&engine->sessions);
    finish_stopping(engine);
}

void arcp__engine_shutdown(arcp__engine *engine, arcp_time now, bool keeps_jobs)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_SHUTDOWN, .now = now, .numbers = {keeps_jobs});
    if (!arcp__engine_begin(engine, now)) {
        return;
    }
    int64_t deadline_ns = now.mono_ns;
    if (!engine->stopped) { /* then it is too late: workers have been left */
        engine->jobs.leaves_workers =
            keeps_jobs && (!engine->context.stopping || engine->jobs.leaves_workers);
    }
    if (!engine->context.stopping) {
        engine->context.stopping = true;
        arcp__admissions_refuse(&engine->jobs, "the runtime is stopping");
        arcp__jobs_stop(&engine->jobs, true);
        deadline_ns =
            arcp__context_after_sec(&engine->context, engine->context.settings.shutdown_grace_sec);
    }
    arcp__refusals_report(&engine->sessions);
    arcp__context_arm(&engine->context, &engine->shutdown_timer, ARCP__TIMER_SHUTDOWN, engine,
                      deadline_ns);
    finish_stopping(engine);
    arcp__engine_settle(engine);
}

/* ---- batches and effects ---- */

/* The owner is done with the effect of the last call. */
static void release_handed(arcp__engine *engine)
{
    arcp__effect_recycle(engine->log);
    arcp__sessions_frame_sent(&engine->sessions);
    arcp__job_forget_done(&engine->jobs);
}

static const arcp_store_batch *take_batch(arcp__engine *engine)
{
    if (!arcp__log_is_failing(engine->log)) {
        if (!arcp__engine_is_restored(
                engine) || /* a restart that is half done must not be stored */
            arcp__batch_pending(engine->log) == 0) {
            return NULL;
        }
        /* Rows and indexes go into the batch that shows the change. */
        arcp__jobs_store_due(&engine->jobs);
        arcp__sessions_write_indexes(&engine->sessions);
    }
    return engine->context.failed ? NULL : arcp__log_take(engine->log);
}

const arcp_store_batch *arcp__engine_take_batch(arcp__engine *engine)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_TAKE_BATCH);
    const arcp_store_batch *batch = take_batch(engine);
    ARCP__RECORD(engine, .kind = ARCP__CALL_BATCH, .what = batch);
    return batch;
}

size_t arcp__engine_pending_changes(const arcp__engine *engine)
{
    return arcp__batch_pending(engine->log);
}

static bool next_effect(arcp__engine *engine, arcp_time now, arcp__effect *out)
{
    release_handed(engine);
    if (arcp__engine_begin(engine, now) && has_messages(engine)) {
        arcp__engine_settle(engine); /* a frame has queued some; inputs settle theirs */
    }
    /* Making the sessions' frames may queue further effects. */
    do {
        if (arcp__effect_next_line(engine->log, out)) {
            return true;
        }
        if (engine->context.failed) {
            return arcp__links_next_close(&engine->sessions, out);
        }
        if (arcp__effect_next(engine->log, out) ||
            arcp__sessions_next_frame(&engine->sessions, out)) {
            return true;
        }
    } while (arcp__effect_is_ready(engine->log) || engine->context.failed);
    return false;
}

/* Records the effect that was handed out, or that there is none. */
static bool record_effect(const arcp__engine *engine, bool is_there, const arcp__effect *effect)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_EFFECT, .what = is_there ? effect : NULL);
    return is_there;
}

bool arcp__engine_next_effect(arcp__engine *engine, arcp_time now, arcp__effect *out)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_NEXT_EFFECT, .now = now);
    return record_effect(engine, next_effect(engine, now, out), out);
}

bool arcp__engine_next_line(arcp__engine *engine, arcp__effect *out)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_NEXT_LINE);
    return record_effect(engine, arcp__effect_next_line(engine->log, out), out);
}

bool arcp__engine_next_forgotten(arcp__engine *engine, arcp__effect *out)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_NEXT_FORGOTTEN);
    release_handed(engine);
    return record_effect(
        engine, !engine->context.failed && arcp__job_next_forgotten(&engine->jobs, out), out);
}
