/* The shards of a runtime, and what concerns all of them. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/options.h"
#include "runtime/runtime_state.h"
#include "runtime/runtime_worker.h"

arcp_status arcp__shards_new(arcp_runtime *runtime, arcp_store *const *stores, size_t count,
                             arcp_error *err)
{
    const size_t with_door = count == 1 ? 1 : count + 1;
    arcp__shard *shards = arcp__alloc_array(with_door, sizeof *shards);
    if (shards == NULL) {
        for (size_t i = 0; i < count; i++) {
            stores[i]->ops->close(stores[i]);
        }
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < with_door; i++) {
        shards[i].runtime = runtime;
        shards[i].store = i < count ? stores[i] : NULL;
        shards[i].deadline.owner = &shards[i];
        if (status == ARCP_OK) {
            status = arcp__timer_arm(&runtime->deadlines, &shards[i].deadline, ARCP_TIME_NEVER);
        }
    }
    runtime->shards = shards;
    runtime->shard_count = count;
    runtime->has_door = with_door != count;
    return status == ARCP_OK ? status : arcp_error_set(err, status, "out of memory");
}

arcp_status arcp__shards_open(arcp_runtime *runtime, const arcp__engine_options *options,
                              arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (arcp__shard *shard = runtime->shards;
         shard != arcp__shards_end(runtime) && status == ARCP_OK; shard++) {
        arcp__engine_options own = *options;
        arcp__shard_settings(runtime, &options->settings, &own.settings);
        own.store_is_durable = shard->store->ops->durable;
        own.owner = shard;
        own.is_one_of_many = runtime->has_door;
        own.sessions_of_all = runtime->has_door ? &runtime->sessions : NULL;
        own.places = runtime->has_door ? &runtime->places : NULL;
        status = arcp__engine_new(&own, &shard->engine, err);
    }
    if (status == ARCP_OK && runtime->has_door) {
        status = arcp__door_new(options, &arcp__front_of(runtime)->engine, err);
    }
    return status;
}

void arcp__shards_free(arcp_runtime *runtime)
{
    if (runtime->shards == NULL) {
        return;
    }
    for (arcp__shard *shard = runtime->shards; shard != arcp__engines_end(runtime); shard++) {
        if (shard->store != NULL) {
            /* Waits for submitted batches; their completions still reach the engine. */
            shard->store->ops->close(shard->store);
        }
        arcp__engine_free(shard->engine);
    }
    arcp__timer_heap_fini(&runtime->deadlines);
    arcp__free(runtime->shards);
    runtime->shards = NULL;
    runtime->shard_count = 0;
    runtime->has_door = false;
}

/* Twice its part, because principals are not spread evenly; not less than `least`, but for the
 * value itself. */
static uint64_t part_of(uint64_t value, size_t shards, uint64_t least)
{
    const uint64_t part = value / shards * 2;
    const uint64_t enough = part < least ? least : part;
    return enough < value ? enough : value;
}

#define MIB UINT64_C(1048576)

void arcp__shard_settings(const arcp_runtime *runtime, const arcp_settings *all, arcp_settings *out)
{
    const size_t shards = runtime->shard_count;
    *out = *all;
    if (shards == 1) {
        return;
    }
    const uint64_t queue = all->limits_store_queue_bytes / shards;
    out->authorization_hide_existence = ARCP__CHOICE_TRUE;
    out->authorization_subscribe = ARCP__SUBSCRIBE_SAME_PRINCIPAL;
    out->jobs_keep_terminal_max = part_of(all->jobs_keep_terminal_max, shards, 1000);
    out->jobs_keep_terminal_bytes = part_of(all->jobs_keep_terminal_bytes, shards, 64 * MIB);
    out->jobs_idempotency_max = part_of(all->jobs_idempotency_max, shards, 10000);
    out->jobs_idempotency_bytes = part_of(all->jobs_idempotency_bytes, shards, 64 * MIB);
    if (all->limits_store_queue_bytes > MIB) {
        out->limits_store_queue_bytes = queue < MIB ? MIB : queue;
    }
}

arcp__shard *arcp__shard_of_principal(const arcp_runtime *runtime, arcp_span principal)
{
    return &runtime->shards[arcp__door_shard(principal, runtime->shard_count)];
}

void arcp__runtime_refused(arcp_runtime *runtime, const arcp__refusal *refusal, const char *why)
{
    arcp__shard *shard = arcp__front_of(runtime);
    arcp__engine_refused(shard->engine, arcp__input_now(shard), refusal, why);
}

/* ---- agents and policies ---- */

arcp_status arcp__shards_register(arcp_runtime *runtime, const arcp__agent_registration *agent,
                                  arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (arcp__shard *shard = runtime->shards;
         shard != arcp__shards_end(runtime) && status == ARCP_OK; shard++) {
        status = arcp__engine_register_agent(shard->engine, agent, err);
    }
    return status;
}

arcp_status arcp__shards_add_policy(arcp_runtime *runtime, const arcp__policy *policy,
                                    arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (arcp__shard *shard = runtime->shards;
         shard != arcp__shards_end(runtime) && status == ARCP_OK; shard++) {
        status = arcp__engine_add_policy(shard->engine, policy, err);
    }
    return status;
}

arcp_status arcp_runtime_add_policy(arcp_runtime *runtime, const arcp_policy *given,
                                    arcp_error *err)
{
    arcp_policy policy = arcp_policy_init();
    const arcp_status status =
        arcp__options_take(&policy, given, sizeof policy, "arcp_policy", err);
    const arcp__policy row = {
        .principal_glob = arcp_span_cstr(policy.principal_glob),
        .agent_glob = arcp_span_cstr(policy.agent_glob),
        .ceiling = policy.ceiling,
        .leaves_others_open = policy.leaves_others_open,
        .max_lifetime_sec = policy.max_lifetime_sec,
    };
    return status == ARCP_OK ? arcp__shards_add_policy(runtime, &row, err) : status;
}

void arcp_runtime_clear_policies(arcp_runtime *runtime)
{
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        arcp__engine_clear_policies(shard->engine);
    }
}

void arcp_runtime_set_submit_policy(arcp_runtime *runtime, arcp_submit_policy_fn decide, void *user)
{
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        arcp__engine_set_submit_policy(shard->engine, decide, user);
    }
}

void arcp_runtime_clear_peer_profiles(arcp_runtime *runtime)
{
    for (arcp__shard *shard = runtime->shards; shard != arcp__engines_end(runtime); shard++) {
        arcp__engine_clear_peer_profiles(shard->engine);
    }
}

arcp_status arcp_runtime_add_peer_profile(arcp_runtime *runtime, const char *client_glob,
                                          const char *principal_glob, const char *profile,
                                          arcp_error *err)
{
    const arcp__peer_profile_rule rule = {.client_glob = arcp_span_cstr(client_glob),
                                          .principal_glob = arcp_span_cstr(principal_glob),
                                          .profile = arcp_span_cstr(profile)};
    arcp_status status = ARCP_OK;
    for (arcp__shard *shard = runtime->shards;
         shard != arcp__engines_end(runtime) && status == ARCP_OK; shard++) {
        status = arcp__engine_add_peer_profile(shard->engine, &rule, err);
    }
    return status;
}

void arcp_runtime_set_audit_failing(arcp_runtime *runtime, bool failing)
{
    for (arcp__shard *shard = runtime->shards; shard != arcp__engines_end(runtime); shard++) {
        arcp__engine_set_audit_failing(shard->engine, failing);
    }
}

/* The shards in turns, so that none has to wait for ever. */
void arcp__shards_share_places(arcp_runtime *runtime)
{
    const size_t first = runtime->first_to_place++;
    runtime->places.is_freed = false;
    for (size_t i = 0; i < runtime->shard_count; i++) {
        arcp__shard *shard = &runtime->shards[(first + i) % runtime->shard_count];
        arcp__engine_stats figures;
        arcp__engine_get_stats(shard->engine, &figures);
        if (figures.jobs_queued != 0) {
            arcp__engine_places_freed(shard->engine, arcp__input_now(shard));
        }
    }
}

/* ---- workers ---- */

void arcp__shards_of_worker(arcp_runtime *runtime, arcp__worker_life life,
                            void (*report)(arcp__engine *engine, arcp_time now,
                                           arcp__worker_life life))
{
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        report(shard->engine, arcp__input_now(shard), life);
    }
}

arcp_status arcp__shards_set_worker_directory(arcp_runtime *runtime, arcp_span directory,
                                              arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (arcp__shard *shard = runtime->shards;
         shard != arcp__shards_end(runtime) && status == ARCP_OK; shard++) {
        status = arcp__engine_set_worker_directory(shard->engine, directory, err);
    }
    return status;
}

size_t arcp__runtime_jobs_on_workers(const arcp_runtime *runtime)
{
    size_t jobs = 0;
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        jobs += arcp__engine_jobs_on_workers(shard->engine);
    }
    return jobs;
}

/* ---- the stop ---- */

bool arcp__shards_leave_workers(const arcp_runtime *runtime)
{
    bool all = true;
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime) && all; shard++) {
        all = arcp__engine_leaves_workers(shard->engine);
    }
    return all;
}

bool arcp__shards_are_finished(const arcp_runtime *runtime)
{
    bool all = true;
    for (arcp__shard *shard = runtime->shards; shard != arcp__engines_end(runtime) && all;
         shard++) {
        all = arcp__engine_is_finished(shard->engine);
    }
    return all;
}

bool arcp__shards_have_lost_store(const arcp_runtime *runtime)
{
    bool one = false;
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime) && !one;
         shard++) {
        one = arcp__engine_store_is_lost(shard->engine);
    }
    return one;
}

/* ---- figures ---- */

void arcp_runtime_get_stats(const arcp_runtime *runtime, arcp_runtime_stats *out)
{
    arcp_runtime_stats stats = {.batches = runtime->batches};
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        arcp__engine_stats engine;
        arcp__engine_get_stats(shard->engine, &engine);
        stats.sessions += engine.sessions;
        stats.sessions_connected += engine.sessions_connected;
        stats.jobs_running += engine.jobs_running;
        stats.jobs_kept += engine.jobs_kept;
        stats.events += engine.events;
        stats.denials += engine.denials;
        stats.credentials_outstanding += engine.credentials_outstanding;
        stats.credentials_stuck += engine.credentials_stuck;
    }
    arcp__options_give(out, &stats, sizeof stats);
}
