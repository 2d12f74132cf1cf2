#include <arcp/runtime.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/options.h"
#include "hosting/confinement.h"
#include "hosting/served_agent.h"
#include "runtime/agent_gateway.h"
#include "runtime/local_worker.h"
#include "runtime/runtime_state.h"
#include "runtime/seal.h"

#define AGENT_THREADS_DEFAULT   64u
#define TOKEN_QUESTIONS_DEFAULT 1024u

static void draw_random(void *user, void *out, size_t size)
{
    arcp_runtime *runtime = user;
    arcp__random_pool_draw(&runtime->random, out, size);
}

static void on_prepare(uv_prepare_t *handle)
{
    arcp_runtime *runtime = handle->data;
    if (runtime->has_withdrawn_agents) {
        arcp__runtime_retire_agents(runtime);
    }
    if (runtime->is_dirty) {
        arcp__runtime_drive(runtime);
    }
    runtime->inbox.is_resting = false;
    arcp__turn_next(&runtime->inbox.turn);
    arcp__runtime_links_next_turn(runtime);
}

static void on_wake(uv_async_t *handle)
{
    arcp_runtime *runtime = handle->data;
    arcp__shards_take_woken(runtime);
    arcp__agent_network_take(runtime->hosting.network);
    arcp__gateway_take(runtime->gateway);
    if (arcp__agent_inbox_take(runtime)) {
        arcp__agent_inbox_notify(runtime);
    }
    runtime->is_dirty = true;
}

static void open_handles(arcp_runtime *runtime)
{
    (void)uv_prepare_init(runtime->loop, &runtime->prepare);
    (void)uv_timer_init(runtime->loop, &runtime->timer);
    (void)uv_async_init(runtime->loop, &runtime->wake, on_wake);
    runtime->prepare.data = runtime;
    runtime->timer.data = runtime;
    runtime->wake.data = runtime;
    runtime->open_handles = 3;
    (void)uv_prepare_start(&runtime->prepare, on_prepare);
    uv_unref((uv_handle_t *)&runtime->prepare);
}

static void free_entry(arcp__agent_entry *entry)
{
    arcp__process_agent_fini(&entry->process);
    arcp_buf_fini(&entry->row);
    arcp__free(entry->name);
    arcp__free(entry->version);
    arcp__free(entry);
}

static void release_memory(arcp_runtime *runtime)
{
    while (runtime->agents != NULL) {
        arcp__agent_entry *entry = runtime->agents;
        runtime->agents = entry->next;
        free_entry(entry);
    }
    arcp__agent_inbox_fini(&runtime->inbox);
    arcp_buf_fini(&runtime->text);
    arcp__random_pool_fini(&runtime->random);
    arcp__free(runtime->name);
    arcp__free(runtime->version);
    arcp_admission_unref(runtime->admission);
    arcp__free(runtime);
}

static void on_handle_closed(uv_handle_t *handle)
{
    arcp_runtime *runtime = handle->data;
    if (--runtime->open_handles == 0) {
        release_memory(runtime);
    }
}

void arcp_runtime_free(arcp_runtime *runtime)
{
    if (runtime == NULL) {
        return;
    }
    arcp__gateway_leave(runtime->gateway);
    arcp__worker_links_close(runtime);
    arcp__runtime_programs_free(runtime);
    arcp__hosting_end_network(&runtime->hosting);
    arcp__worker_gateways_close(runtime);
    arcp__gateway_free(runtime->gateway);
    for (arcp__agent_entry *entry = runtime->agents; entry != NULL; entry = entry->next) {
        arcp__process_agent_fini(&entry->process);
    }
    arcp__runtime_links_free(runtime);
    arcp__authenticator_close(runtime->authenticator);
    arcp__agent_threads_end(runtime);
    arcp__shards_free(runtime);
    arcp__recorder_free(runtime->recorder);
    if (runtime->provisioner != NULL) {
        runtime->provisioner->ops->free(runtime->provisioner);
    }
    arcp__seal_free(runtime->seal);
    arcp__hosting_fini(&runtime->hosting);
    arcp__process_table_free(runtime->hosting.processes);
    if (runtime->open_handles == 0) {
        release_memory(runtime);
        return;
    }
    uv_close((uv_handle_t *)&runtime->prepare, on_handle_closed);
    uv_close((uv_handle_t *)&runtime->timer, on_handle_closed);
    uv_close((uv_handle_t *)&runtime->wake, on_handle_closed);
}

static char *copy_or(const char *text, const char *otherwise)
{
    const char *from = text == NULL ? otherwise : text;
    return arcp__copy_cstr(from, strlen(from));
}

/* ---- authentication ---- */

static void on_answered(void *user, uint64_t auth_id, arcp_status status,
                        const arcp__identity *identity)
{
    const arcp__authentication authentication = {.status = status,
                                                 .principal = identity->principal,
                                                 .is_anonymous = identity->is_anonymous,
                                                 .role = identity->role,
                                                 .origin = identity->origin};
    arcp__runtime_authenticated(user, auth_id, &authentication);
}

static void on_refused(void *user, const char *peer, const char *why, bool is_trouble)
{
    const arcp__refusal refusal = {.peer = peer, .rule = "bearer token", .is_trouble = is_trouble};
    arcp__runtime_refused(user, &refusal, why);
}

static void on_authenticator_wake(void *user)
{
    arcp_runtime *runtime = user;
    (void)uv_async_send(&runtime->wake);
}

arcp_status arcp_runtime_set_token_verifiers(arcp_runtime *runtime,
                                             arcp_token_verifier *const *verifiers, size_t count,
                                             arcp_error *err)
{
    const arcp_status status =
        arcp__authenticator_set(runtime->authenticator, verifiers, count, err);
    if (status == ARCP_OK) {
        arcp__runtime_check_page_keys(runtime); /* before a listener accepts one */
        runtime->roles_are_due = true;
        runtime->is_dirty = true;
        (void)uv_async_send(&runtime->wake);
    }
    return status;
}

/* ---- creation ---- */

/* Creates everything that the engine needs. */
static arcp_status make_parts(arcp_runtime *runtime, const arcp_runtime_options *options,
                              arcp_error *err)
{
    const arcp__authenticator_owner owner = {.answered = on_answered,
                                             .refused = on_refused,
                                             .wake = on_authenticator_wake,
                                             .user = runtime};
    const arcp__process_table_options table = {
        .loop = runtime->loop,
        .launcher = options->launcher,
        .sandbox = options->enforce == NULL ? NULL : options->enforce->sandbox,
        .work_directory = options->work_directory,
        .makes_cgroups = options->makes_cgroups};
    arcp__agent_inbox *inbox = &runtime->inbox;
    inbox->threads_max =
        options->agent_threads == 0 ? AGENT_THREADS_DEFAULT : options->agent_threads;
    inbox->threads = arcp__alloc_array(inbox->threads_max, sizeof *inbox->threads);
    runtime->name = copy_or(options->name, "arcpd");
    runtime->version = copy_or(options->version, ARCP_VERSION_STRING);
    runtime->authenticator = arcp__authenticator_new(&owner, options->token_requests_max == 0
                                                                 ? TOKEN_QUESTIONS_DEFAULT
                                                                 : options->token_requests_max);
    if (inbox->threads == NULL || runtime->name == NULL || runtime->version == NULL ||
        runtime->authenticator == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    /* This also kills processes that an earlier run left behind. */
    const arcp_status status = arcp__process_table_new(&table, &runtime->hosting.processes, err);
    if (status != ARCP_OK) {
        return status;
    }
    const size_t killed = arcp__process_table_swept(runtime->hosting.processes);
    if (killed != 0) {
        arcp__runtime_log(runtime, NULL, ARCP_LOG_WARN,
                          "killed %zu orphan processes of an earlier run", killed);
    }
    if (options->enforce != NULL) {
        const arcp_status enforced = arcp_runtime_set_enforcement(runtime, options->enforce, err);
        if (enforced != ARCP_OK) {
            return enforced;
        }
    }
    return ARCP_OK;
}

/* Copies the settings that the runtime itself needs. */
static void take_settings(arcp_runtime *runtime, const arcp_settings *settings)
{
    runtime->hosting.line_bytes_max = (size_t)settings->limits_agent_line_bytes;
    runtime->hosting.cancel_grace_ms = settings->jobs_cancel_grace_ms;
    runtime->workers.keep_sec = settings->workers_keep_sec;
    runtime->workers.grace_sec = settings->shutdown_grace_sec;
    runtime->workers.frame_bytes = settings->limits_frame_bytes;
    runtime->hosting.enforce.min = settings->enforce_min;
    runtime->hosting.enforce.hides = settings->enforce_hide == ARCP__CHOICE_TRUE;
    runtime->hosting.enforce.is_silent = settings->enforce_report != ARCP__CHOICE_TRUE;
    runtime->hosting.enforce.scratch_bytes = settings->enforce_scratch_bytes;
    runtime->hosting.enforce.pids = settings->enforce_pids;
    runtime->hosting.enforce.cgroup = settings->enforce_cgroup;
    runtime->hosting.enforce.tls = settings->enforce_tls;
    runtime->hosting.enforce.egress_idle_sec = settings->enforce_egress_idle_sec;
    runtime->hosting.enforce.outlasts_expiry = settings->lease_on_expiry == ARCP__ON_EXPIRY_DENY;
    runtime->hosting.enforce.outlasts_budget =
        settings->budget_on_exhaustion == ARCP__ON_EXHAUSTION_DENY;
}

static arcp_status make_shards(arcp_runtime *runtime, const arcp__runtime_setup *setup,
                               arcp_store *store, arcp_error *err)
{
    if (setup->store_count != 0) {
        return arcp__shards_new(runtime, setup->stores, setup->store_count, err);
    }
    const arcp_status status = store != NULL ? ARCP_OK : arcp_store_open_memory(&store, err);
    return status == ARCP_OK ? arcp__shards_new(runtime, &store, 1, err) : status;
}

static arcp_status make_engines(arcp_runtime *runtime, const arcp_runtime_options *options,
                                arcp_error *err)
{
    arcp__engine_options engine = {
        .runtime_name = runtime->name,
        .runtime_version = runtime->version,
        .random = draw_random,
        .random_user = runtime,
        .work_directory = arcp_span_cstr(arcp__process_table_directory(runtime->hosting.processes)),
        .hosts = arcp__confinement_hosts(runtime),
        .makes_spans = options->trace_span != NULL,
        .has_no_log = options->log == NULL,
        .now = arcp__clock_now(),
    };
    engine.hosts.settle = arcp__runtime_settle;
    engine.hosts.usage = arcp__runtime_usage;
    engine.hosts.memory_bytes = arcp__runtime_memory_bytes;
    engine.hosts.enforcement = arcp__runtime_enforcement;
    if (options->settings != NULL) {
        engine.settings = *options->settings;
    } else {
        arcp__settings_default(&engine.settings);
        if (!runtime->shards->store->ops->durable) {
            arcp_settings_fit_memory(&engine.settings);
        }
    }
    take_settings(runtime, &engine.settings);
    engine.worker_keep_sec = engine.settings.workers_keep_sec;
    arcp_status status = arcp__runtime_bound_connections(runtime, &engine.settings, err);
    if (status == ARCP_OK) {
        status = arcp__runtime_provisioner_open(runtime, options->credential_key_file,
                                                &engine.credentials, err);
    }
    if (status == ARCP_OK && options->record != NULL) {
        runtime->recorder = arcp__recorder_new(options->record, options->record_user, false);
        if (runtime->recorder == NULL) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
        arcp__recorder_attach(runtime->recorder, &engine);
    }
    return status == ARCP_OK ? arcp__shards_open(runtime, &engine, err) : status;
}

/* What the program implements, before anything of it is called. */
static arcp_status check_parts(const arcp_runtime_options *options, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    if (options->store != NULL) {
        status = arcp__vtable_check(options->store->ops, ARCP__END_OF(arcp_store_ops, close),
                                    sizeof(arcp_store_ops), "arcp_store_ops", err);
    }
    if (status == ARCP_OK && options->launcher != NULL) {
        status = arcp__vtable_check(options->launcher->ops, ARCP__END_OF(arcp_launcher_ops, free),
                                    sizeof(arcp_launcher_ops), "arcp_launcher_ops", err);
    }
    if (status == ARCP_OK && options->provisioner != NULL) {
        status =
            arcp__vtable_check(options->provisioner->ops, ARCP__END_OF(arcp_provisioner_ops, free),
                               sizeof(arcp_provisioner_ops), "arcp_provisioner_ops", err);
    }
    return status;
}

/* What several shards cannot do: a trace has one engine, and who may subscribe to the jobs of
 * others would have to be notified of jobs that other shards have. */
static arcp_status check_shards(const arcp_runtime_options *options,
                                const arcp__runtime_setup *setup, arcp_error *err)
{
    if (setup->store_count > ARCP__SHARDS_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "%zu shards are more than %u", setup->store_count,
                              ARCP__SHARDS_MAX);
    }
    if (options->record != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "a recording needs shards: 1");
    }
    if (options->settings != NULL &&
        options->settings->authorization_subscribe == ARCP__SUBSCRIBE_ANY) {
        return arcp_error_set(err, ARCP_E_USAGE, "authorization.subscribe: any needs shards: 1");
    }
    return ARCP_OK;
}

arcp_status arcp_runtime_new(struct uv_loop_s *loop, const arcp_runtime_options *given,
                             arcp_runtime **out, arcp_error *err)
{
    const arcp__runtime_setup none = {.hook_count = 0};
    return arcp__runtime_new_with_setup(loop, given, &none, out, err);
}

/* What jobs end at the start is reported to hooks, too. */
static arcp_status start_shards(arcp_runtime *runtime, const arcp__runtime_setup *setup,
                                arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (arcp__shard *shard = runtime->shards;
         shard != arcp__shards_end(runtime) && status == ARCP_OK; shard++) {
        if (setup->hook_count != 0) {
            arcp__engine_set_hooks(shard->engine, arcp__clock_now(), setup->hooks,
                                   setup->hook_count);
        }
        status = arcp__shard_restore(shard, err);
    }
    return status;
}

arcp_status arcp__runtime_new_with_setup(struct uv_loop_s *loop, const arcp_runtime_options *given,
                                         const arcp__runtime_setup *setup, arcp_runtime **out,
                                         arcp_error *err)
{
    arcp_runtime_options options = arcp_runtime_options_init();
    arcp_status status =
        arcp__options_take(&options, given, sizeof options, "arcp_runtime_options", err);
    if (status == ARCP_OK) {
        status = check_parts(&options, err);
    }
    if (status == ARCP_OK && setup->store_count > 1) {
        status = check_shards(&options, setup, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp_runtime *runtime = arcp__alloc(sizeof *runtime);
    if (runtime == NULL) {
        if (options.store != NULL) {
            options.store->ops->close(options.store);
        }
        for (size_t i = 0; i < setup->store_count; i++) {
            setup->stores[i]->ops->close(setup->stores[i]);
        }
        if (options.provisioner != NULL) {
            options.provisioner->ops->free(options.provisioner);
        }
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    runtime->loop = loop;
    runtime->turn.limits = &arcp__turn_of_links;
    runtime->options = options;
    runtime->options.failed = NULL; /* during creation a failure is returned instead */
    runtime->provisioner = options.provisioner;
    runtime->deliver = setup->deliver;
    runtime->deliver_user = setup->user;
    arcp__runtime_init_hosting(runtime);
    runtime->inbox.turn.limits = &arcp__turn_of_agents;
    (void)pthread_mutex_init(&runtime->inbox.mutex, NULL);
    (void)pthread_cond_init(&runtime->inbox.changed, NULL);
    (void)pthread_cond_init(&runtime->inbox.has_work, NULL);
    status = make_shards(runtime, setup, options.store, err);
    if (status == ARCP_OK) {
        status = make_parts(runtime, &options, err);
    }
    if (status == ARCP_OK) {
        status = make_engines(runtime, &options, err);
    }
    if (status == ARCP_OK) {
        /* Writing to a closed pipe or socket must be an error and not kill the program. A handler
         * that the program has set is kept. */
        struct sigaction now;
        if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
            now.sa_handler = SIG_IGN;
            (void)sigaction(SIGPIPE, &now, NULL);
        }
        open_handles(runtime);
        status = start_shards(runtime, setup, err);
    }
    if (status != ARCP_OK) {
        arcp_runtime_free(runtime);
        return status;
    }
    runtime->options.failed = options.failed;
    *out = runtime;
    return ARCP_OK;
}

/* ---- agents ---- */

/* Registers the entry, whose names are set, with the engine. */
static arcp_status offer(arcp_runtime *runtime, arcp__agent_entry *entry, bool is_default,
                         const char *cwd, arcp_error *err)
{
    const bool has_no_cwd = entry->process.served != NULL;
    const arcp__agent_registration registration = {
        .name = arcp_span_cstr(entry->name),
        .version = arcp_span_cstr(entry->version),
        .is_default = is_default,
        .is_unconfined = runtime->hosting.confinement != NULL &&
                         entry->ops == &arcp__agent_worker_host &&
                         !entry->process.confinement.is_on,
        .host = entry,
        .cwd = arcp_span_cstr(has_no_cwd ? NULL : cwd),
        .has_no_cwd = has_no_cwd,
        .worker = arcp__worker_of(runtime, entry),
        .max_jobs = entry->max_jobs,
        .refuses = entry->without_queue,
    };
    const arcp_status status = arcp__shards_register(runtime, &registration, err);
    if (status == ARCP_OK) {
        arcp__agent_entry *other = NULL;
        LL_FOREACH (runtime->agents, other) {
            other->is_offered = other->is_offered && (strcmp(other->name, entry->name) != 0 ||
                                                      strcmp(other->version, entry->version) != 0);
        }
        runtime->has_withdrawn_agents = true;
        entry->is_offered = true;
    }
    return status;
}

arcp_status arcp__runtime_add_entry(arcp_runtime *runtime, arcp__agent_entry *entry,
                                    const char *name, const char *version, bool is_default,
                                    const char *cwd, arcp_error *err)
{
    entry->runtime = runtime;
    entry->name = copy_or(name, "");
    entry->version = copy_or(version, "");
    const arcp_status status = entry->name == NULL || entry->version == NULL
                                   ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                   : offer(runtime, entry, is_default, cwd, err);
    if (status == ARCP_OK) {
        LL_PREPEND(runtime->agents, entry);
    } else {
        free_entry(entry);
    }
    return status;
}

arcp_status arcp__runtime_offer_again(arcp_runtime *runtime, arcp__agent_entry *entry,
                                      bool is_default, arcp_error *err)
{
    return offer(runtime, entry, is_default, entry->process.cwd, err);
}

arcp_status arcp_runtime_register(arcp_runtime *runtime, const arcp_agent *given, arcp_error *err)
{
    arcp_agent agent = arcp_agent_init();
    const arcp_status status = arcp__options_take(&agent, given, sizeof agent, "arcp_agent", err);
    if (status != ARCP_OK) {
        return status;
    }
    if (agent.run == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "arcp_agent.run must not be NULL");
    }
    arcp__agent_entry *entry = arcp__alloc(sizeof *entry);
    if (entry == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    entry->ops = &arcp__agent_callback_host;
    entry->callback = agent;
    entry->callback.name = NULL; /* the caller's strings; the entry has copies */
    entry->callback.version = NULL;
    return arcp__runtime_add_entry(runtime, entry, agent.name, agent.version, agent.is_default,
                                   NULL, err);
}

static void mark_used(void *user, void *host)
{
    arcp__agent_entry *entry = host;
    (void)user;
    entry->is_used = true;
}

void arcp_runtime_clear_agents(arcp_runtime *runtime)
{
    for (arcp__agent_entry *entry = runtime->agents; entry != NULL; entry = entry->next) {
        arcp__process_agent_cool(&entry->process);
        entry->is_offered = false;
    }
    runtime->has_withdrawn_agents = true;
    /* Free process agents that no job and no served process uses. Callback agents are kept, because
     * a thread may still use one when its job has been forgotten. */
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        arcp__engine_clear_agents(shard->engine);
        arcp__engine_for_each_host(shard->engine, mark_used, NULL);
    }
    for (arcp__agent_entry **next = &runtime->agents; *next != NULL;) {
        arcp__agent_entry *entry = *next;
        if (entry->ops == &arcp__agent_worker_host && !entry->is_used &&
            arcp__served_agent_is_idle(entry->process.served)) {
            *next = entry->next;
            free_entry(entry);
        } else {
            entry->is_used = false;
            next = &entry->next;
        }
    }
}

/* ---- reload ---- */

void arcp_runtime_set_settings(arcp_runtime *runtime, const arcp_settings *settings)
{
    take_settings(runtime, settings);
    const arcp_status ignored = arcp__runtime_bound_connections(runtime, settings, NULL);
    (void)ignored; /* only the first call allocates and can fail */
    for (arcp__shard *shard = runtime->shards; shard != arcp__engines_end(runtime); shard++) {
        arcp_settings own;
        arcp__shard_settings(runtime, settings, &own);
        arcp__engine_set_settings(shard->engine, &own);
    }
}

arcp_status arcp_runtime_set_enforcement(arcp_runtime *runtime, const arcp_enforce_options *given,
                                         arcp_error *err)
{
    arcp_enforce_options options = arcp_enforce_options_init();
    if (given != NULL) {
        const arcp_status status =
            arcp__options_take(&options, given, sizeof options, "arcp_enforce_options", err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    return arcp__confinement_set(&runtime->hosting, given == NULL ? NULL : &options, err);
}

void arcp_runtime_reap_orphans(arcp_runtime *runtime)
{
    arcp__process_table_reap(runtime->hosting.processes);
}
