/* arcpd: the runtime as a daemon. */
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arcpd/many_shards.h"
#include "arcpd/state.h"
#include "process/process.h"
#include "runtime/runtime_worker.h"

enum { EXIT_STOPPED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* ---- the runtime ---- */

/* A correct URL of a store that cannot be used is not a usage error. */
static arcp_status open_store(arcp__daemon *state, arcp_store **out, arcp_error *err)
{
    arcp_buf url = arcp_buf_init();
    arcp_status status = arcp__store_url(&state->config, &state->directories, &url, err);
    if (status == ARCP_OK) {
        status = arcp__store_check_trust(url.data, err);
    }
    if (status == ARCP_OK) {
        status = arcp__postgres_is_named(url.data)
                     ? arcp__postgres_open(url.data, state->directories.state, out, err)
                     : arcp_store_open(url.data, out, err);
    }
    arcp_buf_fini(&url);
    return status == ARCP_E_USAGE ? ARCP_E_IO : status;
}

/* The engine can no longer record what agents do (memory has run out, or another node has the
 * store), so they must not continue: they end with this
 * process, which the service manager restarts. */
static void on_failed(void *user)
{
    arcp__daemon *state = user;
    state->exit_status = EXIT_FAILED;
    state->stopped = true;
    uv_stop(&state->loop);
}

/* The hooks are there before the restart, which ends jobs. */
static arcp_status make_with_hooks(arcp__daemon *state, arcp_runtime_options *options,
                                   arcp_error *err)
{
    arcp__hook_set set;
    arcp_buf url = arcp_buf_init();
    arcp__many_shards many = {.stores = {NULL}};
    arcp_status status = arcp__hook_set_make(&state->config, &set, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp__hook_sender_set(&state->hooks, &state->loop, &set, err);
    arcp__runtime_setup setup = {.hooks = state->hooks.set.options,
                                 .hook_count = state->hooks.set.count,
                                 .deliver = arcp__hook_sender_deliver,
                                 .user = &state->hooks};
    if (status == ARCP_OK) {
        status = arcp__store_url(&state->config, &state->directories, &url, err);
    }
    if (status == ARCP_OK) {
        status = arcp__many_shards_open(&many, url.data, options, &setup, err);
    }
    if (status == ARCP_OK) {
        status = arcp__runtime_new_with_setup(&state->loop, options, &setup, &state->runtime, err);
    }
    arcp_buf_fini(&url);
    arcp__hook_set_fini(&set);
    return status;
}

/* Before the agents are registered. Jobs do not outlive arcpd where its store does not. */
static arcp_status open_worker(arcp__daemon *state, arcp_error *err)
{
    const arcp__local_worker_options options = {
        .state = state->directories.state,
        .work = state->directories.work,
        .spawns = state->config.workers_local == ARCP__WORKER_SPAWN,
    };
    if (state->config.workers_local == ARCP__WORKER_NONE || state->config.use_stdio) {
        return ARCP_OK;
    }
    if (state->store_is_memory) {
        arcp__logger_log(
            &state->logger, ARCP_LOG_WARN,
            "workers.local has no effect with store: memory: (jobs do not outlive arcpd)");
        return ARCP_OK;
    }
    return arcp__runtime_open_local_worker(state->runtime, &options, err);
}

static arcp_status make_runtime(arcp__daemon *state, arcp__verifiers *verifiers, arcp_error *err)
{
    arcp_runtime_options options = arcp_runtime_options_init();
    state->store_is_memory = !state->store->ops->durable;
    if (state->store_is_memory) {
        arcp_settings_fit_memory(&state->config.settings);
    }
    arcp_status status = arcp__record_open(&state->record, &state->arguments, &state->logger, err);
    if (status == ARCP_OK) {
        status =
            arcp__credentials_open(&state->credentials, &state->config.credentials, &state->loop,
                                   state->directories.state, &options.provisioner, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    options.store = state->store;
    state->store = NULL;
    options.credential_key_file = state->credentials.key_file;
    options.settings = &state->config.settings;
    options.work_directory = state->directories.work;
    options.makes_cgroups = true;
    options.log = arcp__logger_log_fields;
    options.log_user = &state->logger;
    options.audit_barrier = arcp__audit_trail_barrier;
    options.audit_barrier_user = &state->audit;
    options.trace_span = state->traces.exporter == NULL ? NULL : arcp__trace_export_add;
    options.trace_span_user = &state->traces;
    options.record = state->record.path == NULL ? NULL : arcp__record_write;
    options.record_user = &state->record;
    options.failed = on_failed;
    options.failed_user = state;
    arcp__enforcement_options enforcement;
    const arcp__files_in_use in_use = {.directories = &state->directories,
                                       .record_path = state->record.path};
    status = arcp__enforcement_options_init(&enforcement, &state->config, &in_use, err);
    if (status == ARCP_OK) {
        options.enforce = state->config.setup.enforce.is_off ? NULL : &enforcement.options;
        status = make_with_hooks(state, &options, err);
    }
    arcp__enforcement_options_fini(&enforcement);
    if (status == ARCP_E_CORRUPT) { /* the message names what is damaged */
        const arcp_error found = *err;
        (void)arcp_error_set(err, status, "%s (see DAMAGED STORES in arcpd(8))", found.message);
    }
    if (status == ARCP_OK) {
        status = arcp__verifiers_install(verifiers, &state->config, state->runtime, err);
    }
    if (status == ARCP_OK) {
        status = open_worker(state, err);
    }
    if (status == ARCP_OK) {
        status = arcp__service_offer(state->runtime, &state->config, &state->files, err);
    }
    if (status == ARCP_OK) {
        arcp__credentials_connect(&state->credentials, state->runtime);
    }
    return status;
}

/* ---- SIGHUP: reload ---- */

static void on_reload(uv_timer_t *timer)
{
    arcp__daemon *state = timer->data;
    arcp__service_manager_reloading(&state->manager);
    arcp__daemon_reload(state, "SIGHUP", NULL);
    arcp__service_manager_ready(&state->manager, &state->loop);
}

/* Signals that arrive during a reload have one reload together. With one for each, a stream of them
 * would keep arcpd from everything else, and from stopping. */
static void on_hangup(uv_signal_t *handle, int number)
{
    arcp__daemon *state = handle->data;
    (void)number;
    (void)uv_timer_start(&state->reload, on_reload, 0, 0);
}

/* ---- start ---- */

static void on_stopped(void *user)
{
    arcp__daemon *state = user;
    const char *why = NULL;
    if (!arcp_runtime_is_ready(state->runtime, &why) && strcmp(why, "stopping") != 0) {
        state->exit_status = EXIT_FAILED; /* the store could not be written, which was logged */
    }
    state->stopped = true;
    uv_stop(&state->loop);
}

/* `kept`: the jobs that go on. */
static void say_stopping(arcp__daemon *state, const char *name, size_t kept)
{
    const unsigned long long grace_sec = state->config.settings.shutdown_grace_sec;
    if (state->is_stopping) {
        arcp__logger_format(&state->logger, ARCP_LOG_INFO, "%s again: running jobs are ended now%s",
                            name, kept == 0 ? "" : ", but for those on workers");
    } else if (kept == 0) {
        arcp__logger_format(&state->logger, ARCP_LOG_INFO,
                            "stopping on %s; running jobs have %llu s to finish "
                            "(shutdown.grace_sec), another signal ends them at once",
                            name, grace_sec);
    } else {
        arcp__logger_format(&state->logger, ARCP_LOG_INFO,
                            "stopping on %s; %zu jobs on workers go on, and wait %llu s for "
                            "arcpd to be started again (workers.keep_sec); other running jobs "
                            "have %llu s to finish (shutdown.grace_sec); SIGINT ends all",
                            name, kept, (unsigned long long)state->config.settings.workers_keep_sec,
                            grace_sec);
    }
}

static void on_terminate(uv_signal_t *handle, int number)
{
    arcp__daemon *state = handle->data;
    const bool keeps_jobs =
        number == SIGTERM && state->config.shutdown_jobs == ARCP__SHUTDOWN_KEEPS_JOBS;
    say_stopping(state, number == SIGTERM ? "SIGTERM" : "SIGINT",
                 keeps_jobs ? arcp__runtime_jobs_on_workers(state->runtime) : 0);
    state->is_stopping = true;
    arcp__service_manager_stopping(&state->manager);
    if (keeps_jobs) {
        arcp__runtime_stop_keeping_jobs(state->runtime, on_stopped, state);
    } else {
        arcp_runtime_stop(state->runtime, on_stopped, state);
    }
}

/* arcpd is a child subreaper, so it must wait for processes that agents left behind. */
static void on_child(uv_signal_t *handle, int number)
{
    const arcp__daemon *state = handle->data;
    (void)number;
    arcp_runtime_reap_orphans(state->runtime);
}

static void watch_signals(arcp__daemon *state)
{
    const struct {
        uv_signal_t *handle;
        uv_signal_cb callback;
        int number;
    } rows[] = {{&state->terminate, on_terminate, SIGTERM},
                {&state->interrupt, on_terminate, SIGINT},
                {&state->hangup, on_hangup, SIGHUP},
                {&state->child, on_child, SIGCHLD}};
    (void)uv_timer_init(&state->loop, &state->reload);
    state->reload.data = state;
    uv_unref((uv_handle_t *)&state->reload);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)uv_signal_init(&state->loop, rows[i].handle);
        rows[i].handle->data = state;
        (void)uv_signal_start(rows[i].handle, rows[i].callback, rows[i].number);
        uv_unref((uv_handle_t *)rows[i].handle);
    }
}

/* ---- stdio ---- */

static void on_stdio_grace_over(uv_timer_t *timer)
{
    arcp__daemon *state = timer->data;
    arcp__logger_log(&state->logger, ARCP_LOG_INFO,
                     "shutdown.grace_sec has passed since standard input ended: running jobs are "
                     "ended now");
    arcp_runtime_stop(state->runtime, on_stopped, state);
    arcp_runtime_stop(state->runtime, on_stopped, state); /* a second call skips the grace */
}

/* The parent may still read after closing its end: jobs get the grace and their events are written.
 * The runtime closes the connection when nothing more can follow. */
static void on_stdio_input_end(void *user)
{
    arcp__daemon *state = user;
    const uint64_t grace_ms = state->config.settings.shutdown_grace_sec * 1000;
    (void)uv_timer_start(&state->stdio_grace, on_stdio_grace_over, grace_ms, 0);
}

static void on_stdio_closed(void *user)
{
    arcp__daemon *state = user;
    arcp_runtime_stop(state->runtime, on_stopped, state);
}

static arcp_status serve_stdio(arcp__daemon *state, arcp_error *err)
{
    arcp_stdio_options options = arcp_stdio_options_init();
    options.frame_bytes_max = (size_t)state->config.settings.limits_frame_bytes;
    arcp_connection *connection = NULL;
    const arcp_status status =
        arcp_open_stdio(&state->loop, STDIN_FILENO, STDOUT_FILENO, &options, &connection, err);
    if (status != ARCP_OK) {
        return status;
    }
    (void)uv_timer_init(&state->loop, &state->stdio_grace);
    state->stdio_grace.data = state;
    arcp_serve_options serve = arcp_serve_options_init();
    serve.principal = "local";
    serve.input_over = on_stdio_input_end;
    serve.closed = on_stdio_closed;
    serve.user = state;
    return arcp_runtime_serve(state->runtime, connection, &serve, err);
}

/* One arcpd of a state directory has the socket: that which holds arcpd.pid. */
static void open_operator_socket(arcp__daemon *state)
{
    arcp__operator_socket *operators = &state->operators;
    operators->fd = -1;
    operators->runtime = state->runtime;
    operators->logger = &state->logger;
    operators->frame_bytes_max = (size_t)state->frame_bytes_max;
    if (state->config.use_stdio || state->state_dump.pid_fd < 0 ||
        !arcp__path_in(state->directories.state, "arcpd.sock", operators->path,
                       sizeof operators->path)) {
        return;
    }
    arcp__operator_socket_open(operators, &state->loop, &state->config);
}

static void say_ready(arcp__daemon *state, const arcp_buf *urls)
{
    FILE *to = state->config.use_stdio ? stderr : stdout;
    (void)fprintf(to, "arcpd: ready%.*s\n", (int)urls->size, urls->size == 0 ? "" : urls->data);
    (void)fflush(to);
    arcp__service_manager_ready(&state->manager, &state->loop);
}

static arcp_status start(arcp__daemon *state, arcp_error *err)
{
    const arcp__config *config = &state->config;
    const char *directory = state->directories.state;
    arcp__logger *logger = &state->logger;
    arcp_buf urls = arcp_buf_init();
    arcp__verifiers verifiers = {NULL, 0};
    state->frame_bytes_max = config->settings.limits_frame_bytes;
    state->has_other_users = arcp__has_agent_users(config);
    arcp_status status = arcp__directories_find(&state->directories, state->has_other_users, err);
    if (status == ARCP_OK && state->directories.closed[0] != '\0') {
        arcp__logger_format(
            logger, ARCP_LOG_WARN,
            "agents with a user of their own cannot reach their work directories in %s: other "
            "users cannot enter %s (chmod o+x it, or set STATE_DIRECTORY)",
            state->directories.work, state->directories.closed);
    }
    if (status == ARCP_OK) {
        status = arcp__verifiers_make(config, directory, &verifiers, err);
    }
    if (status == ARCP_OK) {
        const arcp__token_facts tokens = arcp__verifiers_facts(&verifiers);
        arcp__config_warn(&state->config, &tokens, ARCP__CONFIG_START, arcp__log_warning, logger);
    }
    /* Before the audit log, which must have no line about a start whose store was refused. */
    if (status == ARCP_OK) {
        status = open_store(state, &state->store, err);
    }
    if (status == ARCP_OK) {
        status =
            arcp__audit_trail_open(&state->audit, &state->loop, config, directory, logger, err);
    }
    if (status == ARCP_OK) {
        status = arcp__trace_export_open(&state->traces, &state->loop, config, logger, err);
    }
    if (status == ARCP_OK) {
        status = make_runtime(state, &verifiers, err);
    }
    if (status == ARCP_OK) {
        arcp__audit_trail_attach(&state->audit, state->runtime);
        arcp__audit_trail_policy(&state->audit, "start", config, NULL);
        state->status.runtime = state->runtime;
        status = arcp__status_open(&state->status, &state->loop, config, directory, err);
    }
    if (status == ARCP_OK && state->status.server != NULL) {
        char where[ARCP__HOST_MAX + 16];
        arcp__authority_format(arcp__web_server_authority(state->status.server), where,
                               sizeof where);
        arcp__logger_format(logger, ARCP_LOG_INFO, "metrics at http://%s/metrics", where);
    }
    if (status == ARCP_OK) {
        status = arcp__listeners_open(state->runtime, config, &state->sockets, &state->dashboards,
                                      &urls, err);
    }
    if (status == ARCP_OK && config->use_stdio) {
        status = serve_stdio(state, err);
    }
    if (status == ARCP_OK) {
        arcp__state_dump_open(&state->state_dump, &state->loop, directory, state->runtime, logger);
        arcp__operator_requests_open(state);
        open_operator_socket(state);
        arcp__dashboards_announce(&state->dashboards, directory, logger);
        watch_signals(state);
        status = urls.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
    }
    if (status == ARCP_OK) {
        say_ready(state, &urls);
    }
    arcp_buf_fini(&urls);
    arcp__verifiers_fini(&verifiers);
    return status;
}

/* ---- process ---- */

static void on_late_signal(uv_signal_t *handle, int number)
{
    (void)handle;
    (void)number;
}

/* From now on these signals have no effect. The handles are not closed, and the loop is not either:
 * libuv would restore the default action, and another SIGTERM would kill arcpd while it ends. */
static void ignore_signals(arcp__daemon *state)
{
    uv_signal_t *const handles[] = {&state->terminate, &state->interrupt, &state->hangup};
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
        if (handles[i]->data != NULL) {
            (void)uv_signal_start(handles[i], on_late_signal, handles[i]->signum);
        }
    }
}

static void clean_up(arcp__daemon *state)
{
    void *const handles[] = {&state->child, &state->reload, &state->stdio_grace};
    pid_t left[ARCP__LOCAL_WORKERS_MAX];
    const size_t left_count =
        state->runtime == NULL ? 0 : arcp__runtime_left_workers(state->runtime, left);
    ignore_signals(state);
    arcp__service_manager_close(&state->manager);
    (void)uv_timer_stop(&state->reload);
    arcp__state_dump_close(&state->state_dump);
    arcp__operator_socket_close(&state->operators);
    arcp__operator_requests_close(state);
    arcp__status_close(&state->status);
    arcp__audit_trail_attach(&state->audit, NULL);
    arcp__hook_sender_close(&state->hooks);
    arcp_runtime_free(state->runtime);
    arcp__dashboards_free(&state->dashboards);
    arcp__record_close(&state->record);
    arcp_store_close(state->store);
    arcp__trace_export_close(&state->traces);
    arcp__audit_trail_close(&state->audit);
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
        uv_handle_t *handle = handles[i];
        if (handle->data != NULL && !uv_is_closing(handle)) {
            uv_close(handle, NULL);
        }
    }
    (void)uv_run(&state->loop, UV_RUN_DEFAULT);
    if (!state->had_children) {
        arcp__process_table_end_children(left, left_count);
    }
    arcp__credentials_close(&state->credentials);
    arcp__config_fini(&state->config);
    arcp__arguments_free(state->argc, state->argv_copy);
}

int main(int argc, char **argv)
{
    static arcp__daemon state; /* too large for the stack */
    arcp_error error = {0};
    /* Agents may run as our user: this prevents them from tracing arcpd and reading secrets in its
     * memory. exec resets it, so agents themselves are not affected. */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (arcp__arguments_read(argc, argv, &state.arguments, &error) != ARCP_OK) {
        (void)fprintf(stderr, "arcpd: %s (see --help)\n", error.message);
        return EXIT_USAGE;
    }
    if (state.arguments.wants_help || state.arguments.wants_version) {
        if (state.arguments.wants_help) {
            (void)fputs(arcp__arcpd_help, stdout);
        } else {
            (void)printf("arcpd %s (ARCP 1.1)\n", ARCP_VERSION_STRING);
        }
        if (fflush(stdout) != 0) {
            (void)fprintf(stderr, "arcpd: cannot write: %s\n", strerror(errno));
            return EXIT_FAILED;
        }
        return EXIT_STOPPED;
    }
    /* Half of libuv's threads look up names for the networks of jobs, two of each job at a time. */
    (void)setenv("UV_THREADPOOL_SIZE", "16", 0);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGUSR1, SIG_IGN); /* until there is a state to write */
    (void)signal(SIGXFSZ, SIG_IGN); /* a write beyond RLIMIT_FSIZE fails with EFBIG instead */
    /* Memory statistics take a mutex at each allocation, and arcpd does not use them. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    /* Orphan processes of agents become children of arcpd instead of init, so that it can end them
     * and wait for them. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    siginfo_t child = {0};
    state.had_children = waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0;
    (void)umask(077);
    arcp__process_raise_file_limit(&state.files);
    arcp__service_manager_find(&state.manager);
    arcp__passed_sockets_find(&state.sockets);
    state.logger = (arcp__logger){.level = ARCP_LOG_INFO, .audit = &state.audit};
    state.status.audit = &state.audit;
    state.status.traces = &state.traces;
    arcp__config_init(&state.config);
    state.argc = argc;
    state.argv_copy = arcp__arguments_copy(argc, argv);
    if (state.argv_copy == NULL || uv_loop_init(&state.loop) != 0) {
        (void)fprintf(stderr, "arcpd: out of memory\n");
        return EXIT_FAILED;
    }
    arcp_status status = arcp__daemon_read_config(&state, &state.config, &error);
    arcp__arguments_wipe(argc, argv);
    if (status == ARCP_OK && state.arguments.only_checks) {
        status = arcp__check_config(&state.config, &error);
    } else if (status == ARCP_OK && state.arguments.only_checks_store) {
        status = arcp__check_store(&state.config, &error);
    } else if (status == ARCP_OK) {
        state.logger.level = state.config.log_level;
        state.logger.format = state.config.log_format;
        status = start(&state, &error);
        while (status == ARCP_OK && !state.stopped) {
            (void)uv_run(&state.loop, UV_RUN_DEFAULT);
        }
    }
    if (status != ARCP_OK) {
        (void)fprintf(stderr, "arcpd: %s\n", error.message);
        state.exit_status =
            status == ARCP_E_USAGE || status == ARCP_E_INVALID_REQUEST ? EXIT_USAGE : EXIT_FAILED;
    }
    clean_up(&state);
    return state.exit_status;
}
