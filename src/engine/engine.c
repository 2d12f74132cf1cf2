/* The life of an engine and its statistics. Its inputs are in input.c. */
#include "engine/state.h"

static void write_job(void *user, arcp__job *job, arcp_buf *out)
{
    arcp__sessions_write_job(user, job, out);
}

/* Tells each part of the others, and of its options. */
static void connect_parts(arcp__engine *engine)
{
    const arcp__engine_options *options = &engine->options;
    engine->credentials = (arcp__credentials){.context = &engine->context,
                                              .log = engine->log,
                                              .options = &engine->options.credentials,
                                              .ops = &arcp__job_credential_ops,
                                              .user = &engine->jobs,
                                              .timer_kind = ARCP__TIMER_CREDENTIAL,
                                              .makes_spans = options->makes_spans};
    engine->jobs = (arcp__jobs){
        .context = &engine->context,
        .log = engine->log,
        .credentials = &engine->credentials,
        .user = &engine->sessions,
        .owner = options->owner,
        .timer_kind = ARCP__TIMER_JOB,
        .worker_timer_kind = ARCP__TIMER_WORKER,
        .worker_keep_sec = options->worker_keep_sec,
        .work_directory = options->work_directory,
        .makes_spans = options->makes_spans,
        .has_no_log = options->has_no_log,
        .is_recorded = options->record != NULL,
        .hosts = &engine->options.hosts,
        .in_order = {.of = ARCP__LIST_OF_ALL},
        .ended_leases_max = ARCP__ENDED_LEASES_MAX,
        .errors = {.bytes_max = ARCP__STDERR_ALL_MAX},
        .placement = {.fits = arcp__job_fits, .user = &engine->jobs, .share = options->places}};
    engine->schedules = (arcp__schedules){.context = &engine->context,
                                          .log = engine->log,
                                          .jobs = &engine->jobs,
                                          .timer_kind = ARCP__TIMER_SCHEDULE};
    engine->hooks = (arcp__hooks){.context = &engine->context,
                                  .log = engine->log,
                                  .jobs = &engine->jobs,
                                  .timer_kind = ARCP__TIMER_HOOK,
                                  .write_job = write_job,
                                  .user = &engine->sessions,
                                  .bytes_max = ARCP__OUTBOX_BYTES_MAX};
    engine->sessions = (arcp__sessions){.context = &engine->context,
                                        .log = engine->log,
                                        .credentials = &engine->credentials,
                                        .jobs = &engine->jobs,
                                        .schedules = &engine->schedules,
                                        .hooks = &engine->hooks,
                                        .runtime_name = options->runtime_name,
                                        .runtime_version = options->runtime_version,
                                        .count_of_all = options->sessions_of_all,
                                        .is_door = options->is_door,
                                        .is_one_of_many = options->is_one_of_many,
                                        .timer_kinds = {.link = ARCP__TIMER_LINK,
                                                        .session = ARCP__TIMER_SESSION,
                                                        .refusals = ARCP__TIMER_REFUSALS}};
}

arcp_status arcp__engine_new(const arcp__engine_options *options, arcp__engine **out,
                             arcp_error *err)
{
    arcp__engine *engine = arcp__alloc(sizeof *engine);
    if (engine == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    engine->options = *options;
    ARCP__RECORD(engine, .kind = ARCP__CALL_BEGIN, .now = options->now, .what = options);
    engine->wall_ahead_ns = options->now.wall_ns - options->now.mono_ns;
    engine->log = arcp__log_new(&engine->context,
                                &(arcp__log_options){.keeps_rows = options->store_is_durable,
                                                     .has_no_lines = options->has_no_log,
                                                     .retry_timer = ARCP__TIMER_STORE_RETRY});
    if (engine->log == NULL) {
        arcp__free(engine);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    connect_parts(engine);
    if (!arcp__context_init(&engine->context, &options->settings, options->now, options->random,
                            options->random_user) ||
        !arcp__figures_init(&engine->sessions)) {
        arcp__context_no_memory(&engine->context);
    }
    arcp__audit_update_gates(engine->log);
    arcp__context_arm(&engine->context, &engine->sweep_timer, ARCP__TIMER_SWEEP, engine,
                      arcp__context_after_sec(&engine->context, 60));
    if (engine->context.failed) {
        arcp__engine_free(engine);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *out = engine;
    return ARCP_OK;
}

static void drop_effects(arcp__engine *engine)
{
    arcp__effect_drop_all(engine->log);
    arcp__jobs_forget_agents(&engine->jobs);
}

void arcp__engine_free(arcp__engine *engine)
{
    if (engine == NULL) {
        return;
    }
    engine->context.closing = true;
    for (size_t what = 0; what < ARCP__KEPT_COUNT; what++) {
        arcp__share_fini(&engine->jobs.kept[what]); /* before its jobs are freed */
    }
    arcp__restore_free(engine);
    drop_effects(engine);
    while (engine->sessions.links != NULL) {
        arcp__link_disconnect(&engine->sessions, engine->sessions.links);
    }
    drop_effects(engine);
    while (engine->jobs.admissions != NULL) {
        arcp__admission_free(&engine->jobs, engine->jobs.admissions);
    }
    arcp__credentials_fini(&engine->credentials);
    arcp__sessions_fini(&engine->sessions);
    arcp__schedules_fini(&engine->schedules);
    arcp__hooks_fini(&engine->hooks);
    drop_effects(engine);
    arcp__restore_free(engine);
    arcp__jobs_fini(&engine->jobs);
    arcp__log_free(engine->log);
    arcp__context_fini(&engine->context);
    arcp__free(engine);
}

arcp_status arcp__engine_register_agent(arcp__engine *engine, const arcp__agent_registration *agent,
                                        arcp_error *err)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_REGISTER_AGENT,
                 .numbers = {agent->is_default, agent->is_unconfined, agent->max_jobs,
                             (agent->refuses ? 1U : 0U) | (agent->has_no_cwd ? 2U : 0U)},
                 .texts = {agent->name, agent->version, agent->cwd, agent->worker});
    return arcp__record_status(engine, arcp__agent_register(&engine->jobs, agent, err));
}

void arcp__engine_clear_agents(arcp__engine *engine)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_CLEAR_AGENTS);
    arcp__agents_clear(&engine->jobs);
}

void arcp__engine_for_each_host(const arcp__engine *engine, void (*each)(void *user, void *host),
                                void *user)
{
    arcp__agents_for_each_host(&engine->jobs, each, user);
}

arcp_status arcp__engine_add_policy(arcp__engine *engine, const arcp__policy *policy,
                                    arcp_error *err)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_ADD_POLICY, .what = policy);
    return arcp__record_status(engine, arcp__policy_add(&engine->jobs, policy, err));
}

void arcp__engine_clear_policies(arcp__engine *engine)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_CLEAR_POLICIES);
    arcp__policies_clear(&engine->jobs);
}

arcp_status arcp__engine_set_schedules(arcp__engine *engine, arcp_time now,
                                       const arcp__schedule_options *options, size_t count,
                                       arcp_error *err)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_SET_SCHEDULES, .now = now, .numbers = {count},
                 .what = options);
    arcp_status status = ARCP_OK;
    if (arcp__engine_begin(engine, now)) {
        status = arcp__schedules_set(&engine->schedules, options, count, err);
        arcp__engine_settle(engine);
    }
    return arcp__record_status(engine, status);
}

bool arcp__engine_next_schedule(const arcp__engine *engine, const char *name,
                                arcp__schedule_view *out)
{
    return arcp__schedule_next(&engine->schedules, name, out);
}

void arcp__engine_set_hooks(arcp__engine *engine, arcp_time now, const arcp__hook_options *options,
                            size_t count)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_SET_HOOKS, .now = now, .numbers = {count},
                 .what = options);
    if (arcp__engine_begin(engine, now)) {
        arcp__hooks_set(&engine->hooks, options, count);
        arcp__engine_settle(engine);
    }
}

bool arcp__engine_next_notification(const arcp__engine *engine, const char *id,
                                    arcp__notification_view *out)
{
    return arcp__notification_next(&engine->hooks, id, out);
}

void arcp__engine_set_submit_policy(arcp__engine *engine, arcp_submit_policy_fn decide, void *user)
{
    if (decide != NULL) {
        ARCP__RECORD(engine, .kind = ARCP__CALL_FOREIGN);
    }
    engine->jobs.submit_policy = decide;
    engine->jobs.submit_policy_user = user;
}

arcp_status arcp__engine_add_peer_profile(arcp__engine *engine, const arcp__peer_profile_rule *rule,
                                          arcp_error *err)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_ADD_PEER_PROFILE,
                 .texts = {rule->client_glob, rule->principal_glob, rule->profile});
    return arcp__record_status(engine, arcp__peer_profile_add(&engine->sessions, rule, err));
}

void arcp__engine_clear_peer_profiles(arcp__engine *engine)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_CLEAR_PEER_PROFILES);
    arcp__peer_profiles_clear(&engine->sessions);
}

void arcp__engine_set_audit_failing(arcp__engine *engine, bool failing)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_SET_AUDIT_FAILING, .numbers = {failing});
    arcp__audit_set_failing(engine->log, failing);
}

void arcp__engine_set_gateway_keys(arcp__engine *engine, bool are_made)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_SET_GATEWAY_KEYS, .numbers = {are_made});
    engine->jobs.makes_gateway_keys = are_made;
}

const arcp__job_gates *arcp__engine_gates(const arcp__engine *engine)
{
    return &engine->log->gates;
}

void arcp__engine_set_settings(arcp__engine *engine, const arcp_settings *settings)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_SET_SETTINGS, .what = settings);
    engine->context.settings = *settings;
    arcp__audit_update_gates(engine->log);
}

int64_t arcp__engine_deadline(const arcp__engine *engine)
{
    return engine->context.failed ? ARCP_TIME_NEVER
                                  : arcp__timer_heap_next(&engine->context.timers);
}

bool arcp__engine_has_failed(const arcp__engine *engine)
{
    return engine->context.failed;
}

bool arcp__engine_is_fenced(const arcp__engine *engine)
{
    return engine->context.fenced;
}

/* Treat the store as lost after this many failures in a row (about 13 s). */
#define STORE_LOST_FAILURES 6u

bool arcp__engine_store_is_lost(const arcp__engine *engine)
{
    return engine->log->failures > STORE_LOST_FAILURES;
}

size_t arcp__engine_jobs_on_workers(const arcp__engine *engine)
{
    return arcp__jobs_on_workers(&engine->jobs);
}

bool arcp__engine_leaves_workers(const arcp__engine *engine)
{
    return engine->stopped && engine->jobs.leaves_workers;
}

bool arcp__engine_is_finished(const arcp__engine *engine)
{
    if (engine->context.failed) {
        return engine->sessions.is_closing_links && engine->sessions.next_to_close == NULL;
    }
    if (!engine->stopped || arcp__jobs_left(&engine->jobs) != 0 ||
        arcp__jobs_agents_left(&engine->jobs) != 0 || engine->sessions.links != NULL ||
        arcp__effect_is_ready(engine->log)) {
        return false;
    }
    /* What could not be stored was never shown to a peer: the next start finds what it would find
     * after a crash. */
    return arcp__engine_store_is_lost(engine) ||
           (arcp__log_is_durable(engine->log) && engine->credentials.calls == NULL);
}

void arcp__engine_get_stats(const arcp__engine *engine, arcp__engine_stats *out)
{
    *out = (arcp__engine_stats){
        .credentials_outstanding = arcp__credentials_count(&engine->credentials),
        .credentials_stuck = engine->credentials.stuck_count,
        .sessions = engine->sessions.count,
        .sessions_connected = engine->sessions.connected_count,
        .jobs_running = engine->jobs.running,
        .jobs_queued = engine->jobs.placement.waiting[ARCP__PLACE_DELEGATED] +
                       engine->jobs.placement.waiting[ARCP__PLACE_SUBMITTED],
        .jobs_kept = HASH_COUNT(engine->jobs.all) - engine->jobs.running,
        .events = engine->jobs.metrics.event_count,
        .denials = engine->jobs.metrics.denial_count,
        .tail_bytes = engine->log->tail_bytes,
        .store_queue_bytes = engine->log->queue_bytes,
    };
}
