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
#include "base/directory.h"
#include "base/libexec.h"
#include "stream/local_socket.h"
#include "worker/worker_place.h"

typedef arcp__local_worker local_worker;

/* How often the lock is looked at while the worker is away; after each start twice as long. */
#define WATCH_MS     ((uint64_t)500)
#define WATCH_MS_MAX ((uint64_t)10000)
/* Users of agents pass through it. */
#define JOBS_MODE   0711
#define SOCKET_MODE 0600

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
static int start_program(local_worker *worker, const char *program)
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
        result = posix_spawn(&worker->child, program, &files, &attributes, argv.to, environ);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    return result;
}

static void start(local_worker *worker)
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
    arcp_runtime_stats stats = arcp_runtime_stats_init();
    arcp_runtime_get_stats(runtime, &stats);
    return runtime->is_stopping && stats.jobs_running == 0;
}

static void lose_all(const local_worker *worker)
{
    arcp__shards_of_worker(worker->runtime, (arcp__worker_life){.name = arcp__local_worker_name},
                           arcp__engine_worker_lost);
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

/* ---- its links ---- */

void arcp__local_worker_joined(local_worker *worker, arcp_span instance)
{
    (void)snprintf(worker->instance, sizeof worker->instance, "%.*s", (int)instance.size,
                   instance.data);
    (void)uv_timer_stop(&worker->watch);
}

void arcp__local_worker_left(local_worker *worker)
{
    (void)uv_timer_start(&worker->watch, on_watch, 0, WATCH_MS);
}

/* ---- listening ---- */

static void stop_listening(local_worker *worker)
{
    if (worker->fd >= 0) {
        (void)uv_poll_stop(&worker->poll);
        (void)unlink(worker->socket);
        arcp__close(worker->fd);
        worker->fd = -1;
    }
}

void arcp__local_worker_leave(local_worker *worker)
{
    if (worker != NULL) {
        stop_listening(worker);
        (void)uv_timer_stop(&worker->watch);
    }
}

pid_t arcp__runtime_left_worker(const arcp_runtime *runtime)
{
    const bool is_left = runtime->worker != NULL && arcp__shards_leave_workers(runtime) &&
                         arcp__runtime_jobs_on_workers(runtime) != 0;
    return is_left ? runtime->worker->child : 0;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    local_worker *worker = poll->data;
    const int fd = accept4(worker->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        arcp__worker_links_serve(worker->links, fd);
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
        arcp__free(worker);
    }
}

void arcp__local_worker_free(local_worker *worker)
{
    if (worker == NULL) {
        return;
    }
    stop_listening(worker);
    uv_close((uv_handle_t *)&worker->poll, on_closed);
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
    *worker = (local_worker){.runtime = runtime,
                             .links = arcp__worker_links_get(runtime),
                             .spawns = options->spawns,
                             .fd = -1};
    arcp_status status = worker->links == NULL
                             ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                             : arcp__runtime_find_store_id(runtime, err);
    if (status == ARCP_OK) {
        status = find_paths(worker, options, err);
    }
    if (status == ARCP_OK) {
        status = arcp__shards_set_worker_directory(runtime, arcp_span_cstr(worker->jobs), err);
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
    (void)uv_timer_init(runtime->loop, &worker->watch);
    worker->open_handles = 2;
    worker->poll.data = worker->watch.data = worker;
    (void)uv_poll_start(&worker->poll, UV_READABLE, on_readable);
    (void)uv_timer_start(&worker->watch, on_watch, 0, WATCH_MS);
    uv_unref((uv_handle_t *)&worker->poll);
    uv_unref((uv_handle_t *)&worker->watch);
    runtime->worker = worker;
    return ARCP_OK;
}
