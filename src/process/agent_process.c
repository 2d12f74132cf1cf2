/* The end of a program, in order:
 *
 *   its descriptor is readable   the launcher kills what is left in its group, and fetches
 *                                exit status or signal; what is left in its cgroup is killed
 *   its outputs end              or 1 s passes, when something outside the group holds them;
 *                                what waits for its turn then is delivered first
 *   exited                       the last lines without a line feed first
 *   freed by its owner           the handles close, its directory is removed */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "process/process_state.h"

/* ---- freeing ---- */

typedef struct cleaning {
    uv_work_t work;
    arcp__process_table *table; /* a reference: its directory is above ours */
    char *path;
} cleaning;

static void clean(uv_work_t *work)
{
    const cleaning *c = work->data;
    arcp__directory_remove(c->path);
}

static void on_cleaned(uv_work_t *work, int status)
{
    cleaning *c = work->data;
    (void)status;
    arcp__process_table_unref(c->table);
    arcp__free(c->path);
    arcp__free(c);
}

/* An empty one goes at once; what may take long goes on another thread. */
static void remove_directory(arcp__process_table *table, char *path)
{
    if (path == NULL || rmdir(path) == 0) {
        arcp__free(path);
        return;
    }
    cleaning *c = arcp__alloc(sizeof(*c));
    if (c != NULL) {
        *c = (cleaning){.table = table, .path = path};
        c->work.data = c;
        arcp__process_table_ref(table);
        if (uv_queue_work(table->loop, &c->work, clean, on_cleaned) == 0) {
            return;
        }
        arcp__process_table_unref(table);
        arcp__free(c);
    }
    arcp__directory_remove(path);
    arcp__free(path);
}

static void on_handle_closed(uv_handle_t *handle)
{
    arcp__agent_process *process = handle->data;
    if (--process->open_handles != 0) {
        return;
    }
    arcp_buf_fini(&process->output.left);
    arcp_buf_fini(&process->errors.left);
    arcp_buf_fini(&process->line);
    arcp_buf_fini(&process->error_line);
    arcp_buf_fini(&process->tail);
    process->process->ops->release(process->process);
    remove_directory(process->table, process->directory);
    arcp__process_table_unref(process->table);
    arcp__free(process);
}

void arcp__agent_process_close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, on_handle_closed);
    }
}

static void close_all(arcp__agent_process *process)
{
    arcp__agent_process_close_handle((uv_handle_t *)&process->input);
    arcp__agent_process_close_handle((uv_handle_t *)&process->output.pipe);
    arcp__agent_process_close_handle((uv_handle_t *)&process->errors.pipe);
    arcp__agent_process_close_handle((uv_handle_t *)&process->exit);
    arcp__agent_process_close_handle((uv_handle_t *)&process->timer);
}

void arcp__agent_process_free(arcp__agent_process *process)
{
    if (process == NULL || process->is_freed) {
        return;
    }
    process->is_freed = true;
    process->is_told = true;
    arcp__process_table_resume(process);
    if (process->is_taken) {
        close_all(process);
        return;
    }
    /* Its end is still awaited, so that no zombie stays. */
    arcp__agent_process_kill(process);
    (void)uv_read_stop((uv_stream_t *)&process->output.pipe);
    (void)uv_read_stop((uv_stream_t *)&process->errors.pipe);
}

/* ---- its end ---- */

void arcp__agent_process_finish(arcp__agent_process *process)
{
    if (process->is_told || !process->has_callbacks || !process->is_taken ||
        !process->output.ended || !process->errors.ended) {
        return;
    }
    arcp__agent_process_flush(process);
    if (!process->is_told) {
        process->is_told = true;
        (void)uv_timer_stop(&process->timer);
        process->callbacks.exited(process->callbacks.user, &process->end,
                                  arcp__agent_process_tail(process));
    }
}

static void on_drained(uv_timer_t *timer)
{
    arcp__agent_process *process = timer->data;
    if (process->is_resting) {
        (void)uv_timer_again(timer); /* what it wrote is still being delivered */
        return;
    }
    (void)uv_read_stop((uv_stream_t *)&process->output.pipe);
    (void)uv_read_stop((uv_stream_t *)&process->errors.pipe);
    (void)uv_timer_stop(timer);
    process->output.ended = true;
    process->errors.ended = true;
    arcp__agent_process_finish(process);
}

bool arcp__agent_process_check(arcp__agent_process *process)
{
    arcp__process_table *table = process->table;
    if (process->is_taken) {
        return true;
    }
    process->end.struct_size = sizeof(process->end);
    if (!process->process->ops->take_exit(process->process, &process->end)) {
        return false;
    }
    process->is_taken = true;
    (void)uv_poll_stop(&process->exit);
    DL_DELETE(table->processes, process);
    table->count--;
    if (table->directory != NULL && process->process->pid > 0) {
        arcp__work_directory_forget(table->directory, process->process->pid);
    }
    arcp__cgroups_end(table->cgroups, process->cgroup);
    arcp__process_orphans_expect(table, process->job);
    if (process->is_freed) {
        close_all(process);
        return true;
    }
    uv_update_time(table->loop);
    (void)uv_timer_start(&process->timer, on_drained, table->drain_ms, table->drain_ms);
    arcp__agent_process_read(process);
    arcp__agent_process_finish(process);
    return true;
}

static void on_exit_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    (void)arcp__agent_process_check(poll->data);
}

bool arcp__agent_process_has_ended(const arcp__agent_process *process)
{
    struct pollfd look = {.fd = process->process->exit_fd, .events = POLLIN};
    return process->is_taken || poll(&look, 1, 0) > 0;
}

/* ---- while it runs ---- */

void arcp__agent_process_set_callbacks(arcp__agent_process *process,
                                       const arcp__agent_process_callbacks *callbacks)
{
    process->callbacks = *callbacks;
    process->has_callbacks = true;
    arcp__agent_process_read(process);
}

void arcp__agent_process_pause(arcp__agent_process *process, bool paused)
{
    process->is_paused = paused;
    arcp__agent_process_read(process);
}

void arcp__agent_process_set_job(arcp__agent_process *process, arcp_span job)
{
    arcp_span shown = arcp_span_first(job, sizeof(process->job) - 1);
    (void)snprintf(process->job, sizeof(process->job), "%.*s", (int)shown.size,
                   shown.size == 0 ? "" : shown.data);
}

arcp_status arcp__agent_process_move_directory(arcp__agent_process *process, const char *path,
                                               arcp_error *err)
{
    char *copy = arcp__copy_cstr(path, strlen(path));
    if (copy == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (process->directory == NULL || rename(process->directory, path) != 0) {
        arcp__free(copy);
        return arcp_error_set(err, ARCP_E_IO, "the directory %s cannot be made: %s", path,
                              strerror(process->directory == NULL ? ENOENT : errno));
    }
    arcp__free(process->directory);
    process->directory = copy;
    return ARCP_OK;
}

void arcp__agent_process_kill(arcp__agent_process *process)
{
    process->process->ops->signal(process->process, SIGKILL);
}

static void on_kill(uv_timer_t *timer)
{
    arcp__agent_process_kill(timer->data);
}

void arcp__agent_process_terminate(arcp__agent_process *process)
{
    if (process->is_taken || process->is_terminating || process->is_freed) {
        return;
    }
    process->is_terminating = true;
    process->process->ops->signal(process->process, SIGTERM);
    uv_update_time(process->table->loop);
    (void)uv_timer_start(&process->timer, on_kill, process->table->kill_after_ms, 0);
}

pid_t arcp__agent_process_pid(const arcp__agent_process *process)
{
    return process->process->pid;
}

/* ---- starting ---- */

typedef struct pipe_ends {
    int ours[3];
    int theirs[3];
} pipe_ends;

static void close_ends(int ends[3])
{
    for (int at = 0; at < 3; at++) {
        if (ends[at] >= 0) {
            (void)close(ends[at]);
            ends[at] = -1;
        }
    }
}

/* Ours do not block; theirs are ordinary pipes, as programs expect. */
static arcp_status make_pipes(pipe_ends *ends, arcp_error *err)
{
    *ends = (pipe_ends){{-1, -1, -1}, {-1, -1, -1}};
    for (int at = 0; at < 3; at++) {
        int fds[2];
        if (pipe2(fds, O_CLOEXEC) != 0) {
            int number = errno;
            close_ends(ends->ours);
            close_ends(ends->theirs);
            return arcp_error_set(err, ARCP_E_IO, "no pipe can be had: %s", strerror(number));
        }
        ends->ours[at] = fds[at == 0 ? 1 : 0];
        ends->theirs[at] = fds[at == 0 ? 0 : 1];
        (void)fcntl(ends->ours[at], F_SETFL, O_NONBLOCK);
    }
    return ARCP_OK;
}

static arcp_status launch(arcp__agent_process *process, const arcp__process_spec *spec,
                          const pipe_ends *ends, arcp_error *err)
{
    arcp__process_table *table = process->table;
    arcp_launch_spec launch = ARCP_LAUNCH_SPEC_INIT;
    process->cgroup = arcp__cgroups_take(table->cgroups, &launch.cgroup_fd);
    launch.argv = spec->argv;
    launch.env = spec->env;
    launch.cwd = spec->cwd;
    launch.user = spec->user;
    launch.stdin_fd = ends->theirs[0];
    launch.stdout_fd = ends->theirs[1];
    launch.stderr_fd = ends->theirs[2];
    launch.limits = spec->limits;
    launch.limit_count = spec->limit_count;
    arcp_status status =
        table->launcher->ops->start(table->launcher, &launch, &process->process, err);
    if (launch.cgroup_fd >= 0) {
        (void)close(launch.cgroup_fd);
    }
    if (status != ARCP_OK) {
        arcp__cgroups_end(table->cgroups, process->cgroup);
    }
    return status;
}

/* Takes the descriptors over in any case. */
static arcp_status open_handles(arcp__agent_process *process, pipe_ends *ends, arcp_error *err)
{
    uv_loop_t *loop = process->table->loop;
    uv_pipe_t *pipes[3] = {&process->input, &process->output.pipe, &process->errors.pipe};
    int result = uv_poll_init(loop, &process->exit, process->process->exit_fd);
    if (result != 0) {
        close_ends(ends->ours);
        return arcp_error_set(err, ARCP_E_IO, "the process cannot be watched: %s",
                              uv_strerror(result));
    }
    process->exit.data = process;
    (void)uv_timer_init(loop, &process->timer);
    process->timer.data = process;
    for (int at = 0; at < 3; at++) {
        (void)uv_pipe_init(loop, pipes[at], 0);
        pipes[at]->data = process;
        /* It looks at the flags of a descriptor that we know to be open. */
        (void)uv_pipe_open(pipes[at], ends->ours[at]);
    }
    process->open_handles = 5;
    (void)uv_poll_start(&process->exit, UV_READABLE, on_exit_readable);
    return ARCP_OK;
}

static arcp_status start_in(arcp__agent_process *process, const arcp__process_spec *spec,
                            arcp_error *err)
{
    pipe_ends ends;
    arcp_status status = make_pipes(&ends, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = launch(process, spec, &ends, err);
    close_ends(ends.theirs);
    if (status != ARCP_OK) {
        close_ends(ends.ours);
        return status;
    }
    status = open_handles(process, &ends, err);
    if (status != ARCP_OK) {
        process->process->ops->release(process->process);
        arcp__cgroups_end(process->table->cgroups, process->cgroup);
    }
    return status;
}

arcp_status arcp__agent_process_start(arcp__process_table *table, const arcp__process_spec *spec,
                                      arcp__agent_process **out, arcp_error *err)
{
    arcp__agent_process *process = arcp__alloc(sizeof(*process));
    char *directory =
        spec->makes_cwd && process != NULL ? arcp__copy_cstr(spec->cwd, strlen(spec->cwd)) : NULL;
    if (process == NULL || (spec->makes_cwd && directory == NULL)) {
        arcp__free(process);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    process->table = table;
    process->is_plain = spec->is_plain;
    process->line_bytes_max = spec->line_bytes_max;
    process->input_bytes_max = spec->input_bytes_max;
    arcp_status status =
        directory == NULL ? ARCP_OK : arcp__directory_make(directory, spec->user, err);
    if (status == ARCP_OK) {
        status = start_in(process, spec, err);
        if (status != ARCP_OK && directory != NULL) {
            arcp__directory_remove(directory);
        }
    }
    if (status != ARCP_OK) {
        arcp__free(directory);
        arcp__free(process);
        return status;
    }
    process->directory = directory;
    arcp__process_table_ref(table);
    DL_APPEND(table->processes, process);
    table->count++;
    if (table->directory != NULL && process->process->pid > 0) {
        arcp__work_directory_note(table->directory, process->process->pid);
    }
    *out = process;
    return ARCP_OK;
}
