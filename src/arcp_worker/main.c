/* arcp-worker: runs the programs of jobs for an arcpd, and goes on with them while arcpd is away.
 * worker_core.h has what it promises.
 *
 *     LOOKING ── arcpd listens ──> LINKED ── the link ends ──> LOOKING
 *        │                            │
 *        └── SIGTERM, drained and without jobs, another worker in its place ──> ended
 *
 * With --local it belongs to the arcpd of the same machine, which says how each program is started;
 * it also ends after 10 s with neither job nor arcpd. With --config it connects to an arcpd on
 * another machine, and starts only what its own file has. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcp_worker/arguments.h"
#include "arcp_worker/identity.h"
#include "arcp_worker/jobs.h"
#include "arcp_worker/remote.h"
#include "arcp_worker/runtime_link.h"
#include "arcp_worker/say.h"
#include "arcp_worker/worker_config.h"
#include "base/clock.h"
#include "base/random.h"
#include "hosting/confinement.h"
#include "process/process.h"
#include "service/service_manager.h"
#include "worker/worker_link.h"
#include "worker/worker_place.h"
#include "worker/worker_retry.h"

enum { EXIT_ENDED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define TICK_MS        ((uint64_t)(ARCP__WORKER_TICK_NS / ARCP_NS_PER_MS))
#define IDLE_NS        (10 * ARCP_NS_PER_SEC)
#define FAREWELL_MS    1000u  /* for the last messages, when all programs have ended */
#define GRACE_MS       10000u /* until a runtime has said another */
#define OOM_SCORE_MORE 300    /* agents are ended before the worker when memory runs out */

typedef struct worker {
    uv_loop_t loop;
    arcp__loop_share *share;
    arcp__hosting hosting;
    arcp__worker_core *core;
    arcp__hosted_jobs jobs;
    arcp__runtime_place place;
    const char *config_path; /* NULL: it belongs to the arcpd of this machine */
    arcp__worker_config config;
    arcp__remote remote;
    arcp__worker_link *link; /* NULL: arcpd is away */
    arcp__task pump;
    uv_timer_t retry, tick, grace;
    uv_signal_t terminate, interrupt, child, hangup;
    uv_async_t wake; /* by the network of sandboxes */
    uint64_t grace_ms;
    arcp__worker_retry pause; /* between attempts to connect */
    int64_t idle_ns;          /* since when it has neither job nor arcpd; 0: it has */
    arcp_buf abilities;       /* of its sandboxes, as hello has them */
    arcp__worker_identity identity;
    arcp__service_manager manager;
    bool has_complained; /* since the last link */
    bool is_stopping, is_over;
    int exit_status;
} worker;

static int64_t now(void)
{
    return arcp__clock_ns(CLOCK_BOOTTIME);
}

static void end(worker *w, int exit_status)
{
    w->is_over = true;
    w->exit_status = exit_status;
    uv_stop(&w->loop);
}

/* ---- the link ---- */

static void pump_later(worker *w)
{
    arcp__task_post(w->share, &w->pump);
}

/* When all programs have ended, the worker ends once the runtime has taken note of that, or soon.
 */
static void end_if_done(worker *w)
{
    const arcp__worker_figures figures = arcp__worker_core_figures(w->core);
    if (!w->is_stopping) {
        if (figures.is_draining && figures.jobs == 0) {
            arcp__say("it ends: it was drained, and its last job has ended");
            end(w, EXIT_ENDED);
        }
        return;
    }
    if (figures.programs == 0 && (figures.jobs == 0 || w->link == NULL)) {
        end(w, EXIT_ENDED);
    } else if (figures.programs == 0 && uv_timer_get_due_in(&w->grace) > FAREWELL_MS) {
        uv_timer_set_repeat(&w->grace, FAREWELL_MS);
        (void)uv_timer_again(&w->grace);
    }
}

static void on_pump(arcp__task *task)
{
    worker *w = (worker *)((char *)task - offsetof(worker, pump));
    arcp__worker_message message;
    while (w->link != NULL && arcp__worker_link_has_room(w->link) &&
           arcp__worker_core_next(w->core, now(), &message)) {
        arcp__worker_link_send(w->link, &message);
    }
    if (arcp__worker_core_has_failed(w->core)) {
        arcp__say("out of memory: its jobs are lost");
        end(w, EXIT_FAILED);
        return;
    }
    end_if_done(w);
}

static void on_changed(void *user)
{
    pump_later(user);
}

/* By the file and by what arcpd has said last. */
static void list_own(worker *w)
{
    arcp_error error = {0};
    if (w->config_path != NULL && arcp__hosted_jobs_list_own(&w->jobs, &error) != ARCP_OK) {
        arcp__say("its agents cannot be hosted: %s", error.message);
    }
}

static arcp_status on_message(void *user, const arcp__worker_message *message, arcp_error *err)
{
    worker *w = user;
    const arcp_status status = arcp__worker_core_receive(w->core, now(), message, err);
    if (status == ARCP_OK && message->kind == ARCP__WORKER_WELCOME) {
        arcp__worker_link_set_line_bytes(w->link, (size_t)message->welcome.line_bytes);
        arcp__hosted_jobs_set_gateways(&w->jobs, message->welcome.gateways_url);
        w->grace_ms = message->welcome.grace_ms;
        w->jobs.terms.line_bytes = (size_t)message->welcome.agent_line_bytes;
        list_own(w);
        w->pause = (arcp__worker_retry){0};
        w->has_complained = false;
    }
    pump_later(w);
    return status;
}

static void connect_later(worker *w);
static void on_retry(uv_timer_t *timer);

/* The same reason is written once, until there was a link. */
static void complain(worker *w, const char *why)
{
    if (!w->has_complained) {
        w->has_complained = true;
        arcp__say("%s", why);
    }
}

static void unlink_runtime(worker *w, const char *why)
{
    const bool is_refused = arcp__worker_link_is_refused(w->link);
    arcp__worker_link_close(w->link);
    w->link = NULL;
    arcp__worker_core_disconnected(w->core, now());
    arcp__hosted_jobs_set_gateways(&w->jobs, arcp_span_make("", 0));
    pump_later(w);
    if (is_refused) {
        arcp__say("arcpd has refused this worker: %s; it tries again in %llu s", why,
                  (unsigned long long)ARCP__RETRY_REFUSED_MS / 1000);
        (void)uv_timer_start(&w->retry, on_retry, ARCP__RETRY_REFUSED_MS, 0);
        return;
    }
    char line[300];
    (void)snprintf(line, sizeof line, "arcpd is away: %s",
                   why == NULL ? "it has closed the link" : why);
    complain(w, line);
    connect_later(w);
}

static void on_link_ended(void *user, const char *why)
{
    unlink_runtime(user, why);
}

static arcp__worker_link_events link_events(worker *w)
{
    return (arcp__worker_link_events){
        .message = on_message, .has_room = on_changed, .ended = on_link_ended, .user = w};
}

static void begin_link(worker *w)
{
    arcp__worker_core_connected(w->core, now());
    pump_later(w);
}

/* False: there is no link. */
static bool connect_now(worker *w)
{
    const arcp__worker_link_events events = link_events(w);
    arcp_error error = {0};
    int fd = -1;
    arcp_status status = arcp__runtime_place_connect(&w->place, &fd, &error);
    if (status == ARCP_OK && fd >= 0) {
        status = arcp__worker_link_new(&w->loop, fd, ARCP__WORKER_SIDE_WORKER, &events, &w->link,
                                       &error);
        if (status != ARCP_OK) {
            (void)close(fd);
        }
    }
    if (status != ARCP_OK) {
        complain(w, error.message);
    }
    return status == ARCP_OK && fd >= 0;
}

static void on_remote_connected(void *user, arcp_connection *connection)
{
    worker *w = user;
    const arcp__worker_link_events events = link_events(w);
    w->link = arcp__worker_link_over(connection, ARCP__WORKER_SIDE_WORKER, &events);
    if (w->link == NULL) {
        connection->ops->free(connection);
        connect_later(w);
    } else {
        begin_link(w);
    }
}

static void on_remote_failed(void *user, const char *why)
{
    complain(user, why);
    connect_later(user);
}

static void on_retry(uv_timer_t *timer)
{
    worker *w = timer->data;
    if (w->config_path == NULL) {
        if (connect_now(w)) {
            begin_link(w);
        } else {
            connect_later(w);
        }
        return;
    }
    arcp_error error = {0};
    if (arcp__remote_connect(&w->remote, &w->loop, &w->config, &error) != ARCP_OK) {
        on_remote_failed(w, error.message);
    }
}

static void connect_later(worker *w)
{
    uint16_t draw = 0;
    if (w->is_over) {
        return;
    }
    if (w->config_path != NULL) {
        arcp__random(&draw, sizeof draw);
    }
    const uint32_t most_ms =
        w->config_path == NULL ? ARCP__RETRY_LOCAL_MAX_MS : ARCP__RETRY_REMOTE_MAX_MS;
    (void)uv_timer_start(&w->retry, on_retry, arcp__worker_retry_next(&w->pause, most_ms, draw), 0);
}

/* First after the time that programs have, then after that for the last messages. */
static void on_grace(uv_timer_t *timer)
{
    worker *w = timer->data;
    if (arcp__worker_core_figures(w->core).programs == 0) {
        end(w, EXIT_ENDED);
        return;
    }
    arcp__worker_core_kill_all(w->core);
    pump_later(w);
}

static void begin_to_stop(worker *w)
{
    w->is_stopping = true;
    arcp__say("stopping");
    arcp__service_manager_stopping(&w->manager);
    arcp__worker_core_stop(w->core, now());
    (void)uv_timer_start(&w->grace, on_grace, w->grace_ms, FAREWELL_MS);
    arcp__hosted_jobs_cancel(&w->jobs, w->grace_ms);
}

/* ---- time ---- */

static void on_tick(uv_timer_t *timer)
{
    worker *w = timer->data;
    const int64_t now_ns = now();
    if (!arcp__worker_core_tick(w->core, now_ns)) {
        unlink_runtime(w, "it is silent");
    }
    const arcp__worker_figures figures = arcp__worker_core_figures(w->core);
    if (!figures.is_linked && !w->is_stopping && arcp__runtime_place_is_gone(&w->place)) {
        arcp__say("it ends: its lock file is gone, so that no arcpd can find it");
        begin_to_stop(w); /* an arcpd that starts now calls its jobs lost */
        arcp__worker_core_kill_all(w->core);
    }
    if (figures.is_linked || w->config_path != NULL || figures.jobs != 0) {
        w->idle_ns = 0;
    } else if (w->idle_ns == 0) {
        w->idle_ns = now_ns;
    } else if (now_ns - w->idle_ns >= IDLE_NS) {
        arcp__say("it ends: there is neither a job nor an arcpd");
        end(w, EXIT_ENDED);
    }
    pump_later(w);
}

/* ---- signals ---- */

static void on_terminate(uv_signal_t *handle, int number)
{
    worker *w = handle->data;
    if (w->is_stopping) {
        arcp__worker_core_kill_all(w->core);
    } else {
        begin_to_stop(w);
    }
    pump_later(w);
}

static void on_wake(uv_async_t *handle)
{
    worker *w = handle->data;
    arcp__agent_network_take(w->hosting.network);
}

static void on_child(uv_signal_t *handle, int number)
{
    const worker *w = handle->data;
    arcp__process_table_reap(w->hosting.processes);
}

/* Valid until the next one. */
static arcp__worker_hello make_hello(worker *w)
{
    const bool is_remote = w->config_path != NULL;
    arcp_buf_clear(&w->abilities);
    if (is_remote && w->hosting.confinement != NULL) {
        arcp__sandbox_abilities_encode(&w->hosting.confinement->abilities, &w->abilities);
    }
    return (arcp__worker_hello){
        .v_low = ARCP__WORKER_V_LOW,
        .v_high = ARCP__WORKER_V_HIGH,
        .version = ARCP_SPAN_LITERAL(ARCP_VERSION_STRING),
        .name = arcp_span_cstr(is_remote ? w->config.name : "local"),
        .token = arcp_buf_span(&w->config.token),
        .capacity = w->config.capacity,
        .abilities = arcp_buf_span(&w->abilities),
        .offers = w->config.offers,
        .offer_count = w->config.setup.agent_count,
        .instance = arcp_span_cstr(w->identity.instance),
        .boot_id = arcp_span_cstr(w->identity.boot),
        .program = is_remote ? arcp_span_make(NULL, 0) : arcp_span_cstr(w->identity.program),
        .work = arcp_span_cstr(arcp__process_table_directory(w->hosting.processes)),
        .pid = (uint64_t)getpid(),
    };
}

/* The rows are read again, and offered with a new link. The worker of this machine has none. */
static void reload(worker *w)
{
    arcp__worker_config fresh;
    arcp_error error = {0};
    arcp_status status = arcp__worker_config_read(w->config_path, &fresh, &error);
    if (status == ARCP_OK &&
        (strcmp(fresh.name, w->config.name) != 0 || strcmp(fresh.state, w->config.state) != 0)) {
        status = arcp_error_set(&error, ARCP_E_USAGE, "name and state need a restart");
    }
    if (status != ARCP_OK) {
        arcp__say("%s: the rows stay as they are", error.message);
        arcp__worker_config_fini(&fresh);
        return;
    }
    arcp__worker_config_fini(&w->config);
    w->config = fresh;
    w->place.state = w->config.state;
    list_own(w);
    const arcp__worker_hello hello = make_hello(w);
    arcp__worker_core_set_hello(w->core, &hello);
    arcp__say("its rows are read again");
    arcp__remote_cancel(&w->remote);
    if (w->link != NULL) {
        arcp__worker_link_close(w->link);
        w->link = NULL;
        arcp__worker_core_disconnected(w->core, now());
        arcp__hosted_jobs_set_gateways(&w->jobs, arcp_span_make("", 0));
        pump_later(w);
    }
    w->pause = (arcp__worker_retry){0};
    connect_later(w);
}

static void on_hangup(uv_signal_t *handle, int number)
{
    worker *w = handle->data;
    arcp__service_manager_reloading(&w->manager);
    if (w->config_path != NULL) {
        reload(w);
    }
    arcp__service_manager_ready(&w->manager, &w->loop);
}

/* ---- start and end ---- */

static void log_line(void *user, arcp__hosting_level level, const char *text)
{
    arcp__say("%s", text);
}

static arcp_status open_processes(worker *w, arcp_error *err)
{
    w->hosting.wake = &w->wake;
    w->hosting.log = log_line;
    const arcp__process_table_options options = {.loop = &w->loop,
                                                 .work_directory = w->place.work,
                                                 .makes_cgroups = true,
                                                 .oom_score_more = OOM_SCORE_MORE};
    return arcp__process_table_new(&options, &w->hosting.processes, err);
}

static arcp_status open_core(worker *w, arcp_error *err)
{
    w->jobs.agents.hosting = &w->hosting;
    w->jobs.share = w->share;
    w->jobs.config = w->config_path == NULL ? NULL : &w->config;
    w->jobs.changed = on_changed;
    w->jobs.user = w;
    w->jobs.relay = arcp__relay_new(w->share);
    if (w->jobs.relay == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp__hosted_jobs_init(&w->jobs);
    if (w->config_path != NULL && arcp__hosted_jobs_list_own(&w->jobs, err) != ARCP_OK) {
        return err->status;
    }
    const arcp__worker_hello hello = make_hello(w);
    const arcp__worker_programs programs = arcp__hosted_jobs_programs(&w->jobs);
    w->core = w->jobs.core = arcp__worker_core_new(&hello, &programs, now());
    return w->core == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

static void open_handles(worker *w)
{
    (void)uv_async_init(&w->loop, &w->wake, on_wake);
    w->wake.data = w;
    uv_unref((uv_handle_t *)&w->wake);
    uv_timer_t *const timers[] = {&w->retry, &w->tick, &w->grace};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        (void)uv_timer_init(&w->loop, timers[i]);
        timers[i]->data = w;
    }
    const struct {
        uv_signal_t *handle;
        uv_signal_cb taken;
        int number;
    } signals[] = {{&w->terminate, on_terminate, SIGTERM},
                   {&w->interrupt, on_terminate, SIGINT},
                   {&w->child, on_child, SIGCHLD},
                   {&w->hangup, on_hangup, SIGHUP}};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        (void)uv_signal_init(&w->loop, signals[i].handle);
        signals[i].handle->data = w;
        (void)uv_signal_start(signals[i].handle, signals[i].taken, signals[i].number);
    }
    w->pump.run = on_pump;
}

/* The signals' handles stay, so that another SIGTERM cannot kill the worker while it ends. */
static void clean_up(worker *w)
{
    arcp__service_manager_close(&w->manager);
    arcp__remote_cancel(&w->remote);
    arcp__worker_link_close(w->link);
    arcp__worker_core_free(w->core);
    if (w->share != NULL && w->jobs.share != NULL) {
        arcp__hosted_jobs_fini(&w->jobs);
    }
    arcp_buf_fini(&w->abilities);
    if (w->share != NULL) {
        arcp__task_cancel(w->share, &w->pump);
    }
    arcp__hosting_fini(&w->hosting);
    arcp__relay_free(w->jobs.relay);
    arcp__process_table_free(w->hosting.processes);
    arcp__loop_share_unref(w->share);
    uv_close((uv_handle_t *)&w->retry, NULL);
    uv_close((uv_handle_t *)&w->tick, NULL);
    uv_close((uv_handle_t *)&w->grace, NULL);
    uv_close((uv_handle_t *)&w->wake, NULL);
    uv_unref((uv_handle_t *)&w->terminate);
    uv_unref((uv_handle_t *)&w->interrupt);
    uv_unref((uv_handle_t *)&w->child);
    uv_unref((uv_handle_t *)&w->hangup);
    (void)uv_run(&w->loop, UV_RUN_DEFAULT);
    arcp__process_table_end_children(NULL, 0);
    arcp__runtime_place_close(&w->place);
    if (w->config_path != NULL) {
        arcp__worker_config_fini(&w->config);
    }
}

/* ---- the program ---- */

/* The place of a worker with its own file is locked, too: another one would end its programs. */
static arcp_status open_config(worker *w, arcp_error *err)
{
    const arcp_status status = arcp__worker_config_read(w->config_path, &w->config, err);
    if (status == ARCP_OK) {
        w->remote.connected = on_remote_connected;
        w->remote.failed = on_remote_failed;
        w->remote.user = w;
        w->place.state = w->config.state;
        (void)snprintf(w->place.store, sizeof w->place.store, "remote");
        (void)snprintf(w->place.work, sizeof w->place.work, "%s", w->config.work);
    }
    return status;
}

static arcp_status open_all(worker *w, arcp_error *err)
{
    arcp__worker_identify(&w->identity);
    w->place.instance = w->config_path == NULL ? w->identity.instance : "";
    arcp_status status = w->config_path == NULL ? ARCP_OK : open_config(w, err);
    if (status == ARCP_OK) {
        status = arcp__runtime_place_open(&w->place, err);
    }
    if (status == ARCP_OK) {
        w->share = arcp__loop_share_new(&w->loop);
        status =
            w->share == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
    }
    if (status == ARCP_OK) {
        status = open_processes(w, err);
    }
    return status == ARCP_OK ? open_core(w, err) : status;
}

static void prepare_process(arcp_launch_limit *original)
{
    /* Agents may run as our user: this prevents them from tracing us, and reading secrets in our
     * memory. exec resets it. */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)umask(077);
    arcp__process_raise_file_limit(original);
}

int main(int argc, char **argv)
{
    static worker w = {.grace_ms = GRACE_MS}; /* too large for the stack */
    arcp_error error = {0};
    prepare_process(&w.jobs.files);
    arcp__worker_arguments arguments = {0};
    arcp_status status = arcp__worker_arguments_read(argc, argv, &arguments, &error);
    if (status != ARCP_OK) {
        arcp__say("%s (see --help)", error.message);
        return EXIT_USAGE;
    }
    w.config_path = arguments.config;
    w.place = arguments.place;
    if (arguments.text != NULL) {
        return fputs(arguments.text, stdout) >= 0 && fflush(stdout) == 0 ? EXIT_ENDED : EXIT_FAILED;
    }
    arcp__service_manager_find(&w.manager);
    if (uv_loop_init(&w.loop) != 0) {
        arcp__say("out of memory");
        return EXIT_FAILED;
    }
    open_handles(&w);
    status = open_all(&w, &error);
    if (status == ARCP_OK) {
        (void)uv_timer_start(&w.tick, on_tick, TICK_MS, TICK_MS);
        connect_later(&w);
        arcp__service_manager_ready(&w.manager, &w.loop);
        (void)uv_run(&w.loop, UV_RUN_DEFAULT);
    } else {
        arcp__say("%s", error.message);
        w.exit_status = status == ARCP_E_USAGE ? EXIT_USAGE : EXIT_FAILED;
    }
    clean_up(&w);
    return w.exit_status;
}
