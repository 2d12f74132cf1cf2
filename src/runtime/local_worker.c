#include "runtime/local_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/directory.h"
#include "base/hash.h"
#include "base/libexec.h"
#include "stream/local_socket.h"
#include "worker/worker_place.h"

typedef arcp__local_worker local_worker;
typedef arcp__local_link local_link;

/* Open at the same time, whether they have joined or not; a worker has one. */
#define LINKS_MAX 16u
/* How often the lock is looked at while the worker is away; after each start twice as long. */
#define WATCH_MS     ((uint64_t)500)
#define WATCH_MS_MAX ((uint64_t)10000)
/* Users of agents pass through it. */
#define JOBS_MODE   0711
#define SOCKET_MODE 0600
/* The least that a worker keeps of a job before it waits, and the most of all jobs. */
#define UNKEPT_BYTES       UINT64_C(8388608)
#define UNKEPT_TOTAL_BYTES UINT64_C(268435456)
/* Of job.start, beside the frame with its input. */
#define START_BYTES UINT64_C(1048576)

static int64_t boot_now_ns(void)
{
    return arcp__clock_ns(CLOCK_BOOTTIME);
}

/* A sandbox, its network, and a process that is warm or serves belong to the process that started
 * them. */
arcp_span arcp__local_worker_of(const arcp_runtime *runtime, const arcp__agent_entry *entry)
{
    const arcp__process_agent *agent = &entry->process; /* without a runtime: a callback */
    const bool has_worker = runtime->worker != NULL && agent->runtime != NULL &&
                            agent->pool == NULL && agent->served == NULL &&
                            (runtime->confinement == NULL || !agent->confinement.is_on);
    return has_worker ? arcp__local_worker_name : arcp_span_make(NULL, 0);
}

/* ---- its life ---- */

/* Whether a worker lives; one whose lock cannot be looked at may. */
static bool may_live(const local_worker *worker)
{
    const int fd = open(worker->lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool is_free = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    arcp__close(fd);
    return !is_free;
}

/* It has a session of its own, standard error of ours, and no other descriptor. */
static int start_program(const local_worker *worker, const char *program)
{
    const char *const arguments[] = {
        program,  "--local",    worker->state, "--store", worker->runtime->store_id,
        "--work", worker->work, NULL};
    union {
        const char *const *from;
        char *const *to;
    } argv = {arguments};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigset_t all;
    sigset_t none;
    pid_t pid = 0;
    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETSIGMASK);
    int result = posix_spawn_file_actions_init(&files);
    if (result == 0) {
        result = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    }
    if (result == 0) {
        result = posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
    }
    if (result == 0) {
        result = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    }
    if (result == 0) {
        result = posix_spawn(&pid, program, &files, &attributes, argv.to, environ);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    return result;
}

static void start(const local_worker *worker)
{
    arcp_buf program = arcp_buf_init();
    if (!arcp__libexec_find("arcp-worker", &program)) {
        arcp__runtime_log(worker->runtime, NULL, ARCP_LOG_ERROR, "arcp-worker is in none of: %.*s",
                          (int)program.size, program.size == 0 ? "" : program.data);
    } else {
        const int result = start_program(worker, program.data);
        if (result != 0) {
            arcp__runtime_log(worker->runtime, NULL, ARCP_LOG_ERROR, "%s cannot be started: %s",
                              program.data, strerror(result));
        }
    }
    arcp_buf_fini(&program);
}

/* Whether the runtime stops, and only waits for programs of jobs that have ended. A worker that
 * comes back has to forget these, and kills them. */
static bool awaits_worker_alone(const arcp_runtime *runtime)
{
    arcp__engine_stats stats;
    arcp__engine_get_stats(runtime->engine, &stats);
    return runtime->is_stopping && stats.jobs_running == 0;
}

static void lose_all(const local_worker *worker)
{
    arcp__engine_worker_lost(worker->runtime->engine, arcp__input_now(worker->runtime),
                             arcp__local_worker_name, arcp_span_make(NULL, 0));
}

/* The worker is away: it may have ended, or not have begun. */
static void on_watch(uv_timer_t *timer)
{
    local_worker *worker = timer->data;
    if (may_live(worker)) {
        if (awaits_worker_alone(worker->runtime)) {
            lose_all(worker);
        }
        return;
    }
    if (worker->instance[0] != '\0') {
        arcp__runtime_log(worker->runtime, NULL, ARCP_LOG_ERROR,
                          "the worker has ended, and its jobs are lost");
        worker->instance[0] = '\0';
    }
    lose_all(worker);
    if (worker->spawns && !worker->runtime->is_stopping) {
        const uint64_t pause_ms = uv_timer_get_repeat(timer) * 2;
        start(worker);
        uv_timer_set_repeat(timer, pause_ms < WATCH_MS_MAX ? pause_ms : WATCH_MS_MAX);
        (void)uv_timer_again(timer);
    }
}

/* ---- links ---- */

static void on_timer(uv_timer_t *timer);

static void arm(local_worker *worker)
{
    int64_t due_ns = ARCP_TIME_NEVER;
    const local_link *link = NULL;
    DL_FOREACH (worker->links, link) {
        const int64_t other_ns = arcp__worker_peer_due(link->peer);
        due_ns = other_ns < due_ns ? other_ns : due_ns;
    }
    if (due_ns == ARCP_TIME_NEVER) {
        (void)uv_timer_stop(&worker->timer);
        return;
    }
    const int64_t left_ns = due_ns - boot_now_ns();
    uv_update_time(worker->runtime->loop);
    (void)uv_timer_start(
        &worker->timer, on_timer,
        left_ns <= 0 ? 0 : (uint64_t)((left_ns + ARCP_NS_PER_MS - 1) / ARCP_NS_PER_MS), 0);
}

static void close_link(local_link *link)
{
    local_worker *worker = link->worker;
    if (worker->joined == link) {
        worker->joined = NULL;
        arcp__engine_worker_away(worker->runtime->engine, arcp__input_now(worker->runtime),
                                 arcp__local_worker_name);
        (void)uv_timer_start(&worker->watch, on_watch, 0, WATCH_MS);
    }
    DL_DELETE(worker->links, link);
    arcp__worker_link_close(link->link);
    arcp__worker_peer_free(link->peer);
    arcp__free(link);
}

static void on_ended(void *user, const char *why)
{
    local_link *link = user;
    local_worker *worker = link->worker;
    arcp__runtime_log(worker->runtime, NULL, ARCP_LOG_WARN, "the link to a worker has ended: %s",
                      why == NULL ? "the worker has closed it" : why);
    close_link(link);
    arm(worker);
}

static void on_timer(uv_timer_t *timer)
{
    local_worker *worker = timer->data;
    for (local_link *link = worker->links, *next = NULL; link != NULL; link = next) {
        arcp_error error = {0};
        next = link->next;
        if (arcp__worker_peer_tick(link->peer, boot_now_ns(), &error) != ARCP_OK) {
            on_ended(link, error.message);
        }
    }
    arm(worker);
}

static arcp_status on_message(void *user, const arcp__worker_message *message, arcp_error *err)
{
    const local_link *link = user;
    const arcp_status status = arcp__worker_peer_receive(link->peer, boot_now_ns(), message, err);
    arm(link->worker);
    return status;
}

static void on_room(void *user)
{
}

static void on_send(void *user, const arcp__worker_message *message)
{
    arcp__worker_link_send(((const local_link *)user)->link, message);
}

/* Of the same life the newest link counts. */
static arcp_status on_hello(void *user, const arcp__worker_hello *hello,
                            arcp__worker_welcome *welcome, arcp_error *err)
{
    local_link *link = user;
    local_worker *worker = link->worker;
    arcp_runtime *runtime = worker->runtime;
    const uint64_t line_bytes = runtime->settings_agent_line_bytes;
    if (!arcp_span_equal(hello->name, arcp__local_worker_name) ||
        hello->instance.size > ARCP__WORKER_ID_MAX) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "this is not the worker of this machine");
    }
    if (worker->joined != NULL && !arcp_span_equal_cstr(hello->instance, worker->instance)) {
        return arcp_error_set(err, ARCP_E_EXISTS, "name_in_use");
    }
    if (worker->joined != NULL) {
        close_link(worker->joined);
    }
    /* It holds the lock: all others are dead. */
    arcp__engine_worker_lost(runtime->engine, arcp__input_now(runtime), arcp__local_worker_name,
                             hello->instance);
    if (!arcp__engine_worker_joins(runtime->engine, arcp__input_now(runtime),
                                   arcp__local_worker_name, hello->instance)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "its instance is not valid");
    }
    (void)snprintf(worker->instance, sizeof worker->instance, "%.*s", (int)hello->instance.size,
                   hello->instance.data);
    worker->joined = link;
    (void)uv_timer_stop(&worker->watch);
    arcp__runtime_log(runtime, NULL, ARCP_LOG_INFO, "a worker has joined: process %llu",
                      (unsigned long long)hello->pid);
    *welcome = (arcp__worker_welcome){
        .store = arcp_span_cstr(runtime->store_id),
        .keep_ms = runtime->workers.keep_sec * 1000,
        .grace_ms = runtime->workers.grace_sec * 1000,
        .line_bytes = runtime->workers.frame_bytes + line_bytes + START_BYTES,
        .unkept_bytes = 2 * line_bytes < UNKEPT_BYTES ? UNKEPT_BYTES : 2 * line_bytes,
        .unkept_total_bytes = UNKEPT_TOTAL_BYTES,
    };
    return ARCP_OK;
}

/* ---- listening ---- */

static void serve(local_worker *worker, int fd)
{
    const arcp__worker_link_events events = {
        .message = on_message, .has_room = on_room, .ended = on_ended};
    arcp__worker_peer_owner owner = {.send = on_send, .hello = on_hello};
    arcp_error error = {0};
    size_t count = 0;
    const local_link *other = NULL;
    DL_COUNT(worker->links, other, count);
    local_link *link =
        count < LINKS_MAX && arcp__local_socket_is_ours(fd) ? arcp__alloc(sizeof *link) : NULL;
    if (link == NULL) {
        (void)close(fd);
        return;
    }
    link->worker = worker;
    arcp__local_worker_fill_owner(&owner);
    owner.user = link;
    link->peer = arcp__worker_peer_new(&owner, boot_now_ns());
    arcp__worker_link_events own = events;
    own.user = link;
    if (link->peer == NULL ||
        arcp__worker_link_new(worker->runtime->loop, fd, ARCP__WORKER_SIDE_RUNTIME, &own,
                              &link->link, &error) != ARCP_OK) {
        arcp__runtime_log(worker->runtime, NULL, ARCP_LOG_ERROR, "a worker cannot be served: %s",
                          link->peer == NULL ? "out of memory" : error.message);
        arcp__worker_peer_free(link->peer);
        arcp__free(link);
        (void)close(fd);
        return;
    }
    arcp__worker_link_set_line_bytes(link->link, worker->runtime->settings_agent_line_bytes + 1);
    DL_APPEND(worker->links, link);
    arm(worker);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    local_worker *worker = poll->data;
    const int fd = accept4(worker->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        serve(worker, fd);
    }
}

static arcp_status find_paths(local_worker *worker, const arcp__local_worker_options *options,
                              arcp_error *err)
{
    const char *store = worker->runtime->store_id;
    const bool fits = snprintf(worker->state, PATH_MAX, "%s", options->state) < PATH_MAX &&
                      snprintf(worker->work, PATH_MAX, "%s", options->work) < PATH_MAX &&
                      arcp__worker_socket_path(options->state, store, worker->socket) &&
                      arcp__worker_lock_path(options->state, store, worker->lock) &&
                      arcp__worker_jobs_path(options->work, store, worker->jobs);
    if (!fits) {
        return arcp_error_set(err, ARCP_E_USAGE, "the path of the state directory is too long");
    }
    if ((mkdir(worker->jobs, JOBS_MODE) != 0 && errno != EEXIST) ||
        chmod(worker->jobs, JOBS_MODE) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "the directory %.300s cannot be made: %s",
                              worker->jobs, strerror(errno));
    }
    return ARCP_OK;
}

static void on_closed(uv_handle_t *handle)
{
    local_worker *worker = handle->data;
    if (--worker->open_handles == 0) {
        arcp__close(worker->fd);
        arcp__free(worker);
    }
}

void arcp__local_worker_free(local_worker *worker)
{
    if (worker == NULL) {
        return;
    }
    while (worker->links != NULL) {
        local_link *link = worker->links;
        DL_DELETE(worker->links, link);
        arcp__worker_link_close(link->link);
        arcp__worker_peer_free(link->peer);
        arcp__free(link);
    }
    if (worker->fd >= 0) {
        (void)unlink(worker->socket);
    }
    uv_close((uv_handle_t *)&worker->poll, on_closed);
    uv_close((uv_handle_t *)&worker->timer, on_closed);
    uv_close((uv_handle_t *)&worker->watch, on_closed);
}

arcp_status arcp__runtime_open_local_worker(arcp_runtime *runtime,
                                            const arcp__local_worker_options *options,
                                            arcp_error *err)
{
    local_worker *worker = arcp__alloc(sizeof *worker);
    if (worker == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *worker = (local_worker){.runtime = runtime, .spawns = options->spawns, .fd = -1};
    arcp_status status = arcp__runtime_find_store_id(runtime, err);
    if (status == ARCP_OK) {
        status = find_paths(worker, options, err);
    }
    if (status == ARCP_OK) {
        status =
            arcp__engine_set_worker_directory(runtime->engine, arcp_span_cstr(worker->jobs), err);
    }
    if (status == ARCP_OK) {
        status = arcp__local_socket_listen(worker->socket, SOCKET_MODE, &worker->fd, err);
    }
    if (status == ARCP_OK && uv_poll_init(runtime->loop, &worker->poll, worker->fd) != 0) {
        status = arcp_error_set(err, ARCP_E_IO, "cannot listen on unix:%.300s", worker->socket);
    }
    if (status != ARCP_OK) {
        arcp__close(worker->fd);
        arcp__free(worker);
        return status;
    }
    (void)uv_timer_init(runtime->loop, &worker->timer);
    (void)uv_timer_init(runtime->loop, &worker->watch);
    worker->open_handles = 3;
    worker->poll.data = worker->timer.data = worker->watch.data = worker;
    (void)uv_poll_start(&worker->poll, UV_READABLE, on_readable);
    (void)uv_timer_start(&worker->watch, on_watch, 0, WATCH_MS);
    uv_unref((uv_handle_t *)&worker->poll);
    uv_unref((uv_handle_t *)&worker->timer);
    uv_unref((uv_handle_t *)&worker->watch);
    runtime->worker = worker;
    runtime->worker_host = &arcp__agent_local_worker_host;
    return ARCP_OK;
}
