/* The engine's frame: life, time, and the end of every input.
 *
 * An input runs in three steps: enter (note the time), its own work, settle (deliver mail
 * until there is none). When memory runs out in the middle, the parts leave the state
 * consistent and set out_of_memory; settle then closes the link whose input it was, or ends
 * the job, so that nobody is left waiting for an answer that cannot come. */
#include "engine/parts.h"

/* How far the wall clock may go its own way before expiries are looked at. */
#define WALL_STEP_NS (100 * ARCP_NS_PER_MS)

void arcp__engine_enter(arcp__engine *engine, arcp_time now)
{
    arcp__context_set_time(&engine->context, now);
}

static void give_up_on_input(arcp__engine *engine)
{
    engine->context.out_of_memory = false;
    if (engine->restore != NULL) {
        arcp__restore_no_memory(engine);
    }
    if (engine->current_link != NULL && !engine->current_link->gone) {
        engine->current_link->must_close = true;
        engine->must_close_links = true;
    }
    if (engine->current_job != NULL && !engine->current_job->ended) {
        arcp__job_fail_with(engine, engine->current_job, ARCP_E_INTERNAL_ERROR,
                            "the runtime ran out of memory");
        engine->context.out_of_memory = false;
    }
}

void arcp__engine_settle(arcp__engine *engine)
{
    do {
        while (arcp__mail_deliver(engine)) {
        }
        arcp__jobs_end_over(engine);
        arcp__admissions_run(engine);
        /* Not only when a batch is done: a store that stalls finishes none. */
        arcp__engine_update_pressure(engine);
        if (engine->context.out_of_memory) {
            give_up_on_input(engine);
        }
    } while (engine->mail_first != NULL || engine->over_limit != NULL);
    engine->current_link = NULL;
    engine->current_job = NULL;
    if (engine->restore == NULL && !engine->context.closing) {
        arcp__jobs_forget_oldest(engine);
    }
    if (engine->context.owes && !engine->context.closing && engine->restore == NULL) {
        arcp__engine_make_good(engine);
    }
}

arcp_status arcp__engine_new(const arcp__engine_options *options, arcp__engine **out,
                             arcp_error *err)
{
    arcp__engine *engine = arcp__alloc(sizeof(*engine));
    if (engine == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    engine->options = *options;
    engine->wall_ahead_ns = options->now.wall_ns - options->now.mono_ns;
    engine->ended_leases_max = ARCP__ENDED_LEASES_MAX;
    arcp__shares_init(engine->kept);
    engine->asking.secret = engine->revealed.secret = true;
    if (!arcp__context_init(&engine->context, &options->settings, options->now, options->random,
                            options->random_user) ||
        !arcp__timer_heap_reserve(&engine->context.timers, ARCP__ENGINE_TIMERS)) {
        arcp__context_no_memory(&engine->context);
    }
    arcp__context_arm(&engine->context, &engine->sweep_timer, ARCP__TIMER_SWEEP, engine,
                      arcp__context_after_sec(&engine->context, 60));
    if (engine->context.out_of_memory) {
        arcp__engine_free(engine);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *out = engine;
    return ARCP_OK;
}

void arcp__engine_free(arcp__engine *engine)
{
    if (engine == NULL) {
        return;
    }
    engine->context.closing = true;
    arcp__restore_free(engine);
    arcp__mail_free_all(engine);
    arcp__effect_queues_free(engine);
    while (engine->links != NULL) {
        arcp__engine_disconnect(engine, engine->context.now, engine->links);
    }
    arcp__effect_queues_free(engine);
    arcp__batch_free_all(engine);
    arcp__admission_free_all(engine);
    arcp__free(engine->refusals);
    arcp__credential_free_all(engine);
    while (engine->outbox != NULL) {
        arcp__session *session = engine->outbox;
        engine->outbox = session->outbox_next;
        session->in_outbox = false;
        arcp__session_unpin(session);
    }
    (void)arcp__jobs_store_due(engine); /* nothing is written any more: it lets go of them */
    (void)arcp__budgets_store(engine);
    for (arcp__session *session = engine->sessions, *next = NULL; session != NULL; session = next) {
        next = session->hh.next;
        arcp__session_free(engine, session);
    }
    for (arcp__job *job = engine->jobs, *next = NULL; job != NULL; job = next) {
        next = job->hh.next;
        arcp__job_free(engine, job);
    }
    arcp__batch_free_all(engine);
    arcp__mail_free_all(engine);
    arcp__effect_queues_free(engine);
    arcp__stream_reap(engine);
    arcp__restore_free(engine);
    arcp__budget_free_rows(engine);
    arcp__directory_free(engine);
    arcp__shares_fini(engine->kept);
    arcp_buf_fini(&engine->body);
    arcp_buf_fini(&engine->sending);
    arcp_buf_fini(&engine->features_text);
    arcp__context_fini(&engine->context);
    arcp__free(engine);
}

void arcp__engine_set_settings(arcp__engine *engine, const arcp_settings *settings)
{
    engine->context.settings = *settings;
}

static void end_running_jobs(arcp__engine *engine)
{
    for (arcp__job *job = engine->jobs, *next = NULL; job != NULL; job = next) {
        next = job->hh.next;
        if (!job->ended) {
            arcp__job_fail_with(engine, job, ARCP_E_INTERNAL_ERROR, "the runtime is stopping");
        }
    }
}

/* How long peers have, when no job is left, to take what they were not sent yet: above all how
 * the last jobs ended. */
#define LAST_WORDS_NS (5 * ARCP_NS_PER_SEC)

static bool has_last_words(const arcp__engine *engine, const arcp__link *link)
{
    const arcp__session *session = link->session;
    return session != NULL &&
           (session->sent_seq + 1 < session->next_seq || session->answers_first != NULL) &&
           !engine->store_failing && !engine->last_words_are_over;
}

static void finish_stopping(arcp__engine *engine)
{
    if (!engine->context.stopping || engine->running_jobs != 0) {
        return;
    }
    if (!engine->stopped) {
        engine->stopped = true;
        arcp__context_arm(&engine->context, &engine->shutdown_timer, ARCP__TIMER_SHUTDOWN, engine,
                          engine->context.now.mono_ns + LAST_WORDS_NS);
    }
    for (arcp__link *link = engine->links, *next = NULL; link != NULL; link = next) {
        next = link->next;
        if (!has_last_words(engine, link)) {
            arcp__link_close(engine, link, 1001, "the runtime is stopping", !engine->store_failing);
        }
    }
}

/* Once a minute; when there is more than an input may take, soon again. */
static void sweep(arcp__engine *engine)
{
    const bool is_done = !arcp__idempotency_sweep(engine);
    if (is_done) {
        arcp__credential_sweep(engine);
        arcp__principals_sweep(engine);
    }
    arcp__context_arm(&engine->context, &engine->sweep_timer, ARCP__TIMER_SWEEP, engine,
                      arcp__context_after_ms(&engine->context, is_done ? 60000 : 1));
}

static void dispatch(arcp__engine *engine, arcp__timer *timer)
{
    switch ((arcp__timer_kind)timer->kind) {
    case ARCP__TIMER_HELLO:
        arcp__link_hello_timeout(engine, timer->owner);
        break;
    case ARCP__TIMER_REST:
        arcp__link_rest_due(engine, timer->owner);
        break;
    case ARCP__TIMER_HEARTBEAT:
        arcp__session_heartbeat_due(engine, timer->owner);
        break;
    case ARCP__TIMER_WINDOW:
        arcp__session_window_due(engine, timer->owner);
        break;
    case ARCP__TIMER_LONE_REFUSAL:
        arcp__session_settle_refusal(engine, timer->owner);
        break;
    case ARCP__TIMER_JOB_RUNTIME:
        arcp__job_runtime_due(engine, timer->owner);
        break;
    case ARCP__TIMER_JOB_EXPIRY:
        arcp__job_expiry_due(engine, timer->owner);
        break;
    case ARCP__TIMER_JOB_GRACE:
        arcp__job_grace_due(engine, timer->owner);
        break;
    case ARCP__TIMER_JOB_KEEP:
        arcp__job_keep_due(engine, timer->owner);
        break;
    case ARCP__TIMER_CREDENTIAL:
        arcp__credential_due(engine, timer->owner);
        break;
    case ARCP__TIMER_CREDENTIAL_USAGE:
        arcp__credential_usage_due(engine, timer->owner);
        break;
    case ARCP__TIMER_SWEEP:
        sweep(engine);
        break;
    case ARCP__TIMER_REFUSALS:
        arcp__refusals_tell(engine);
        break;
    case ARCP__TIMER_STORE_RETRY:
        break; /* take_batch looks at the timer */
    case ARCP__TIMER_SHUTDOWN:
        engine->last_words_are_over = engine->stopped;
        end_running_jobs(engine);
        break;
    }
}

/* Timers run on the monotonic clock; when the wall clock is set, expiries are looked at.
 * Slewing is not worth a look at every job. */
static void watch_wall_clock(arcp__engine *engine)
{
    int64_t ahead_ns = 0;
    int64_t moved_ns = 0;
    if (__builtin_sub_overflow(engine->context.now.wall_ns, engine->context.now.mono_ns,
                               &ahead_ns) ||
        __builtin_sub_overflow(ahead_ns, engine->wall_ahead_ns, &moved_ns) ||
        (moved_ns < WALL_STEP_NS && moved_ns > -WALL_STEP_NS)) {
        return;
    }
    engine->wall_ahead_ns = ahead_ns;
    arcp__jobs_follow_wall_clock(engine);
    arcp__engine_settle(engine);
}

void arcp__engine_tick(arcp__engine *engine, arcp_time now)
{
    arcp__engine_enter(engine, now);
    watch_wall_clock(engine);
    for (arcp__timer *timer =
             arcp__timer_heap_pop_due(&engine->context.timers, engine->context.now.mono_ns);
         timer != NULL;
         timer = arcp__timer_heap_pop_due(&engine->context.timers, engine->context.now.mono_ns)) {
        dispatch(engine, timer);
        arcp__engine_settle(engine);
    }
    if (engine->context.owes) {
        arcp__engine_settle(engine);
    }
    arcp__sessions_leave(engine);
    finish_stopping(engine);
}

/* What waits for memory is tried again soon, also when nothing comes. */
#define OWING_PAUSE_NS (100 * ARCP_NS_PER_MS)

int64_t arcp__engine_deadline(const arcp__engine *engine)
{
    int64_t next = arcp__timer_heap_next(&engine->context.timers);
    int64_t soon = engine->context.now.mono_ns + OWING_PAUSE_NS;
    return engine->context.owes && soon < next ? soon : next;
}

void arcp__engine_shutdown(arcp__engine *engine, arcp_time now)
{
    arcp__engine_enter(engine, now);
    int64_t over_ns = now.mono_ns;
    if (!engine->context.stopping) {
        engine->context.stopping = true;
        arcp__admission_drop_all(engine, "the runtime is stopping");
        over_ns =
            arcp__context_after_sec(&engine->context, engine->context.settings.shutdown_grace_sec);
    }
    arcp__refusals_tell(engine);
    arcp__context_arm(&engine->context, &engine->shutdown_timer, ARCP__TIMER_SHUTDOWN, engine,
                      over_ns);
    finish_stopping(engine);
    arcp__engine_settle(engine);
}

/* So many attempts in a row, some 13 s: not the store that stumbles once. */
#define HOPELESS_FAILURES 6u

bool arcp__engine_is_hopeless(const arcp__engine *engine)
{
    return engine->store_failing && engine->store_failures > HOPELESS_FAILURES;
}

bool arcp__engine_is_finished(const arcp__engine *engine)
{
    if (!engine->stopped || engine->running_jobs != 0 || engine->live_agents != 0 ||
        engine->links != NULL || engine->ready.first != NULL || engine->log.first != NULL) {
        return false;
    }
    /* What could not be stored was shown to nobody: the next start finds what it would find
     * after a crash. */
    return arcp__engine_is_hopeless(engine) ||
           (engine->batches == NULL && !arcp__batch_has_work(engine) &&
            engine->credential_calls == NULL);
}

void arcp__engine_get_stats(const arcp__engine *engine, arcp__engine_stats *out)
{
    *out = (arcp__engine_stats){
        .credentials_outstanding = HASH_COUNT(engine->credentials),
        .credentials_stuck = engine->stuck_credentials,
        .sessions = engine->session_count,
        .sessions_connected = engine->connected_count,
        .jobs_running = engine->running_jobs,
        .jobs_kept = HASH_COUNT(engine->jobs) - engine->running_jobs,
        .events = engine->event_count,
        .denials = engine->denial_count,
        .tail_bytes = engine->tail_bytes,
        .store_queue_bytes = engine->queue_bytes,
    };
}
