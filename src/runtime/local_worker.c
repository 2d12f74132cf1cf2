#include "runtime/local_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* ---- locks ---- */

/* Whether this life lives; one whose lock cannot be looked at may. */
static bool may_live(const local_worker *worker, const char *instance)
{
    char path[PATH_MAX];
    if (!arcp__worker_lock_path(worker->state, worker->runtime->store_id, instance, path)) {
        return false;
    }
    const int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    const bool is_dead =
        fd < 0 ? errno == ENOENT : flock(fd, LOCK_EX | LOCK_NB) == 0 && unlink(path) == 0;
    arcp__close(fd);
    return !is_dead;
}

bool arcp__local_worker_lives(const local_worker *worker, arcp_span instance)
{
    char copy[ARCP__WORKER_ID_MAX + 1];
    (void)snprintf(copy, sizeof copy, "%.*s", (int)instance.size, instance.data);
    return may_live(worker, copy);
}

/* What all shards know of this life; false: nothing. The texts are valid until their next input. */
static bool find_view(const local_worker *worker, const char *instance, arcp__worker_view *out)
{
    const arcp_runtime *runtime = worker->runtime;
    bool is_found = false;
    for (const arcp__shard *shard = runtime->shards; shard < arcp__shards_end(runtime); shard++) {
        arcp__worker_view view;
        for (size_t i = 0; arcp__engine_worker_view(shard->engine, i, &view); i++) {
            if (strcmp(view.name, ARCP__LOCAL_WORKER) == 0 &&
                strcmp(view.instance, instance) == 0) {
                view.jobs += is_found ? out->jobs : 0;
                *out = view;
                is_found = true;
            }
        }
    }
    return is_found;
}

typedef struct lives {
    size_t count; /* that hold their locks */
    bool one_takes_jobs, one_is_away;
} lives;

/* A life of which nothing is known yet may take jobs. */
static lives find_lives(const local_worker *worker)
{
    lives found = {0};
    DIR *entries = opendir(worker->state);
    if (entries == NULL) {
        return (lives){.one_takes_jobs = true, .one_is_away = true}; /* seen later */
    }
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        char instance[ARCP__WORKER_ID_MAX + 1];
        arcp__worker_view view;
        if (!arcp__worker_instance_of(entry->d_name, worker->runtime->store_id, instance) ||
            !may_live(worker, instance)) {
            continue;
        }
        const bool is_known = find_view(worker, instance, &view);
        found.count++;
        found.one_takes_jobs = found.one_takes_jobs || !is_known || !view.is_draining;
        found.one_is_away = found.one_is_away || !is_known || view.state == ARCP__WORKER_AWAY;
    }
    (void)closedir(entries);
    return found;
}

/* ---- its start ---- */

static bool has_ended(pid_t child)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

static void drop_ended(local_worker *worker)
{
    size_t kept = 0;
    for (size_t i = 0; i < worker->child_count; i++) {
        const pid_t child = worker->children[i];
        if (!has_ended(child)) {
            worker->children[kept++] = child;
        } else if (child == worker->starting) {
            worker->starting = 0;
        }
    }
    worker->child_count = kept;
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
    pid_t child = 0;
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
        result = posix_spawn(&child, program, &files, &attributes, argv.to, environ);
    }
    if (result == 0) {
        worker->starting = child;
        worker->children[worker->child_count++] = child;
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

/* Whether a worker that starts now would be another program. */
static bool is_replaced(arcp_span program)
{
    char id[ARCP__WORKER_ID_MAX + 1] = "";
    arcp_buf path = arcp_buf_init();
    if (arcp__libexec_find("arcp-worker", &path)) {
        arcp__worker_program_id(path.data, id);
    }
    arcp_buf_fini(&path);
    return id[0] != '\0' && program.size != 0 && !arcp_span_equal_cstr(program, id);
}

/* ---- what becomes of it ---- */

/* Whether the runtime stops, and only waits for programs of jobs that have ended. A worker that
 * comes back has to forget these, and kills them. */
static bool awaits_worker_alone(const arcp_runtime *runtime)
{
    arcp_runtime_stats stats = arcp_runtime_stats_init();
    arcp_runtime_get_stats(runtime, &stats);
    return runtime->is_stopping && stats.jobs_running == 0;
}

static void lose(const local_worker *worker, const char *found, bool is_dead)
{
    arcp_runtime *runtime = worker->runtime;
    arcp__worker_view view = {0};
    char instance[ARCP__WORKER_NAME_SIZE];
    (void)snprintf(instance, sizeof instance, "%s", found);
    (void)find_view(worker, instance, &view);
    if (is_dead && view.is_draining && view.jobs == 0) {
        arcp__runtime_log(runtime, NULL, ARCP_LOG_INFO, "the worker that drained has ended");
    } else if (is_dead) {
        arcp__runtime_log(runtime, NULL, ARCP_LOG_ERROR,
                          "the worker has ended, and its jobs are lost");
    }
    arcp__shards_of_worker(
        runtime,
        (arcp__worker_life){.name = arcp__local_worker_name, .instance = arcp_span_cstr(instance)},
        arcp__engine_worker_lost);
}

/* False: none of those that are away is dead. */
static bool lose_one(const local_worker *worker, const arcp__shard *shard)
{
    arcp__worker_view view;
    for (size_t i = 0; arcp__engine_worker_view(shard->engine, i, &view); i++) {
        if (strcmp(view.name, ARCP__LOCAL_WORKER) != 0 || view.state != ARCP__WORKER_AWAY) {
            continue;
        }
        const bool is_dead = !may_live(worker, view.instance);
        if (is_dead || awaits_worker_alone(worker->runtime)) {
            lose(worker, view.instance, is_dead);
            return true;
        }
    }
    return false;
}

static void lose_dead(const local_worker *worker)
{
    const arcp_runtime *runtime = worker->runtime;
    for (const arcp__shard *shard = runtime->shards; shard < arcp__shards_end(runtime); shard++) {
        while (lose_one(worker, shard)) {
        }
    }
}

static void on_watch(uv_timer_t *timer)
{
    local_worker *worker = timer->data;
    lose_dead(worker);
    drop_ended(worker);
    const lives found = find_lives(worker);
    if (worker->runtime->is_stopping) {
        return;
    }
    const bool was_full = worker->is_full;
    worker->is_full = !found.one_takes_jobs && (found.count >= ARCP__LOCAL_WORKERS_MAX ||
                                                worker->child_count >= ARCP__LOCAL_WORKERS_MAX);
    if (worker->is_full && !was_full) {
        arcp__runtime_log(worker->runtime, NULL, ARCP_LOG_WARN,
                          "%u workers of this machine drain: jobs wait until one of them has ended",
                          ARCP__LOCAL_WORKERS_MAX);
    }
    if (found.one_takes_jobs && !found.one_is_away) {
        (void)uv_timer_stop(timer);
    } else if (!found.one_takes_jobs && !worker->is_full && worker->spawns &&
               worker->starting == 0) {
        const uint64_t pause_ms = uv_timer_get_repeat(timer) * 2;
        start(worker);
        uv_timer_set_repeat(timer, pause_ms < WATCH_MS_MAX ? pause_ms : WATCH_MS_MAX);
        (void)uv_timer_again(timer);
    }
}

/* ---- its links ---- */

void arcp__local_worker_changed(local_worker *worker)
{
    (void)uv_timer_start(&worker->watch, on_watch, 0, WATCH_MS);
}

void arcp__local_worker_joined(local_worker *worker, const arcp__worker_hello *hello)
{
    if (hello->pid == (uint64_t)worker->starting) {
        worker->starting = 0;
    }
    arcp__local_worker_changed(worker);
}

/* One that we have started ourselves is what there is, whatever its version. */
bool arcp__local_worker_is_outdated(const local_worker *worker, const arcp__worker_hello *hello)
{
    const bool is_other = !arcp_span_equal_cstr(hello->version, ARCP_VERSION_STRING);
    for (size_t i = 0; i < worker->child_count; i++) {
        if (hello->pid == (uint64_t)worker->children[i]) {
            return false;
        }
    }
    if (is_other) {
        arcp__runtime_log(worker->runtime, NULL, ARCP_LOG_INFO,
                          "the worker of this machine, process %llu, is version %.*s, not %s: %s",
                          (unsigned long long)hello->pid, (int)hello->version.size,
                          hello->version.data, ARCP_VERSION_STRING,
                          worker->spawns ? "it drains, and another one is started"
                                         : "its supervisor has not started it again");
    }
    return worker->spawns && (is_other || is_replaced(hello->program));
}

void arcp__runtime_renew_local_worker(arcp_runtime *runtime)
{
    arcp__joined_worker *joined =
        runtime->worker == NULL
            ? NULL
            : arcp__worker_links_named(runtime->worker_links, arcp__local_worker_name);
    if (joined != NULL && !joined->is_draining && runtime->worker->spawns &&
        is_replaced(arcp_span_cstr(joined->program))) {
        arcp__worker_links_drain(joined);
    }
}

/* When its jobs are lost, or there are none, it has nothing to do any more. */
bool arcp__local_worker_take_foreign(local_worker *worker, const arcp__worker_hello *hello,
                                     pid_t pid)
{
    arcp_runtime *runtime = worker->runtime;
    arcp__worker_view view;
    char instance[ARCP__WORKER_ID_MAX + 1];
    (void)snprintf(instance, sizeof instance, "%.*s", (int)hello->instance.size,
                   hello->instance.data);
    if (!may_live(worker, instance)) {
        return false;
    }
    if (!find_view(worker, instance, &view)) {
        (void)kill(pid, SIGTERM);
        return true;
    }
    if (!view.is_draining) {
        arcp__runtime_log(runtime, NULL, ARCP_LOG_WARN,
                          "the worker of this machine, process %d, is version %.*s, which this "
                          "arcpd cannot go on with: its %zu jobs have %llu s to end by themselves, "
                          "and are lost then (worker_too_old)",
                          (int)pid, (int)hello->version.size, hello->version.data, view.jobs,
                          (unsigned long long)runtime->workers.keep_sec);
        arcp__shards_of_worker(
            runtime,
            (arcp__worker_life){.name = arcp__local_worker_name, .instance = hello->instance},
            arcp__engine_worker_too_old);
        arcp__local_worker_changed(worker);
    }
    return true;
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

size_t arcp__runtime_left_workers(const arcp_runtime *runtime, pid_t out[ARCP__LOCAL_WORKERS_MAX])
{
    const local_worker *worker = runtime->worker;
    if (worker == NULL || !arcp__shards_leave_workers(runtime) ||
        arcp__runtime_jobs_on_workers(runtime) == 0) {
        return 0;
    }
    memcpy(out, worker->children, worker->child_count * sizeof out[0]);
    return worker->child_count;
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
