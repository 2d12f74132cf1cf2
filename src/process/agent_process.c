/* The end of a process, in order:
 *
 *   its exit descriptor is readable   the launcher kills the rest of its group and fetches its exit
 *                                     status or signal; the rest of its cgroup is killed
 *   its outputs end                   or 1 s passes, if a process outside the group keeps them
 *                                     open; output that was already read is delivered first
 *   `exited` is called                after a last line without a line feed was delivered
 *   its owner frees it                the handles are closed and its directory is removed */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "base/hash.h"
#include "base/options.h"
#include "launch/sandbox_kill.h"
#include "process/process_state.h"

#define INPUT_BYTES_MAX 16777216u

/* ---- freeing ---- */

static void release(arcp__agent_process *process)
{
    arcp__process_table_unref(process->table);
    arcp__process_sandbox_free(process->sandbox);
    arcp__free(process->directory);
    arcp__free(process);
}

static const char *scratch_of(const arcp__agent_process *process)
{
    return process->sandbox == NULL ? NULL : process->sandbox->scratch;
}

static void remove_directories(const arcp__agent_process *process)
{
    if (process->directory != NULL) {
        arcp__directory_remove(process->directory);
    }
    if (scratch_of(process) != NULL) {
        arcp__directory_remove(scratch_of(process));
    }
}

static void on_cleaning(uv_work_t *work)
{
    remove_directories(work->data);
}

static void on_cleaned(uv_work_t *work, int status)
{
    (void)status;
    release(work->data);
}

void arcp__agent_process_handle_closed(uv_handle_t *handle)
{
    arcp__agent_process *process = handle->data;
    if (--process->open_handles != 0) {
        return;
    }
    arcp_buf_fini(&process->output.left);
    arcp_buf_fini(&process->errors.left);
    arcp_buf_fini(&process->output.line);
    arcp_buf_fini(&process->errors.line);
    arcp_buf_fini(&process->tail);
    if (process->process != NULL) {
        process->process->ops->free(process->process);
    }
    /* An empty directory is removed at once; a tree may take long and is removed on another thread.
     */
    if ((process->directory != NULL && rmdir(process->directory) != 0) ||
        scratch_of(process) != NULL) {
        process->cleaning.data = process;
        if (uv_queue_work(process->table->loop, &process->cleaning, on_cleaning, on_cleaned) == 0) {
            return;
        }
        remove_directories(process);
    }
    release(process);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, arcp__agent_process_handle_closed);
    }
}

static void close_all(arcp__agent_process *process)
{
    close_handle((uv_handle_t *)&process->input);
    close_handle((uv_handle_t *)&process->output.pipe);
    close_handle((uv_handle_t *)&process->errors.pipe);
    if (process->process != NULL) {
        close_handle((uv_handle_t *)&process->exit);
    }
    if (process->sandbox != NULL) {
        close_handle((uv_handle_t *)&process->sandbox->poll);
    }
    close_handle((uv_handle_t *)&process->timer);
}

static void stop_reading(arcp__agent_process *process)
{
    (void)uv_read_stop((uv_stream_t *)&process->output.pipe);
    (void)uv_read_stop((uv_stream_t *)&process->errors.pipe);
}

void arcp__agent_process_free(arcp__agent_process *process)
{
    if (process == NULL || process->is_freed) {
        return;
    }
    process->is_freed = true;
    process->is_reported = true;
    arcp__process_table_resume(process);
    if (process->is_reaped) {
        close_all(process);
        return;
    }
    /* Its end is still awaited, so that it does not stay a zombie. */
    arcp__agent_process_kill(process);
    stop_reading(process);
}

/* ---- its end ---- */

static void on_drain_timeout(uv_timer_t *timer)
{
    arcp__agent_process *process = timer->data;
    if (process->is_resting) {
        (void)uv_timer_again(timer); /* its output is still being delivered */
        return;
    }
    stop_reading(process);
    (void)uv_timer_stop(timer);
    process->output.ended = true;
    process->errors.ended = true;
    arcp__agent_process_finish(process);
}

bool arcp__agent_process_check(arcp__agent_process *process)
{
    arcp__process_table *table = process->table;
    if (process->is_reaped || process->process == NULL) {
        return process->is_reaped;
    }
    process->end = arcp_process_exit_init();
    if (!process->process->ops->take_exit(process->process, &process->end)) {
        return false;
    }
    if (process->sandbox != NULL) {
        arcp__process_sandbox_drain(process);
    }
    process->is_reaped = true;
    arcp__children_remove(process->process->pid);
    (void)uv_poll_stop(&process->exit);
    DL_DELETE(table->processes, process);
    if (table->directory != NULL && process->process->pid > 0) {
        arcp__work_directory_forget(table->directory, process->process->pid);
    }
    process->has_run_out = arcp__cgroups_has_run_out(table->cgroups, process->cgroup);
    arcp__cgroups_end(table->cgroups, process->cgroup);
    arcp__process_table_expect_orphans(table, process->job);
    if (process->is_freed) {
        close_all(process);
        return true;
    }
    uv_update_time(table->loop);
    (void)uv_timer_start(&process->timer, on_drain_timeout, table->drain_ms, table->drain_ms);
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
    if (process->is_reaped || process->process == NULL) {
        return process->is_reaped;
    }
    struct pollfd exit = {.fd = process->process->exit_fd, .events = POLLIN};
    return poll(&exit, 1, 0) > 0;
}

/* ---- while it runs ---- */

void arcp__agent_process_set_callbacks(arcp__agent_process *process,
                                       const arcp__agent_process_callbacks *callbacks)
{
    process->callbacks = *callbacks;
    arcp__agent_process_read(process);
}

void arcp__agent_process_pause(arcp__agent_process *process, bool paused)
{
    process->is_paused = paused;
    arcp__agent_process_read(process);
}

void arcp__agent_process_set_job(arcp__agent_process *process, arcp_span job)
{
    const arcp_span shown = arcp_span_first(job, sizeof process->job - 1);
    (void)snprintf(process->job, sizeof process->job, "%.*s", (int)shown.size,
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
        return arcp_error_set(err, ARCP_E_IO, "the directory %s cannot be created: %s", path,
                              strerror(process->directory == NULL ? ENOENT : errno));
    }
    arcp__free(process->directory);
    process->directory = copy;
    return ARCP_OK;
}

static void on_kill(uv_timer_t *timer);

/* At a level without a process table of its own: until the monitor has ended. */
static void kill_sandbox(arcp__agent_process *process)
{
    if (!process->is_reaped) {
        arcp__sandbox_kill(process->process, process->kill_calls++);
        uv_update_time(process->table->loop);
        (void)uv_timer_start(&process->timer, on_kill, ARCP__SANDBOX_KILL_AGAIN_MS, 0);
    }
}

static void on_kill(uv_timer_t *timer)
{
    arcp__agent_process *process = timer->data;
    if (process->kill_calls == 0) {
        arcp__agent_process_kill(process);
    } else {
        kill_sandbox(process);
    }
}

void arcp__agent_process_kill(arcp__agent_process *process)
{
    process->is_killed = true; /* also when it is only being started */
    if (process->process == NULL) {
        return;
    }
    if (process->sandbox == NULL || process->sandbox->has_processes) {
        process->process->ops->signal(process->process, SIGKILL);
    } else if (process->kill_calls == 0) {
        kill_sandbox(process);
    }
}

void arcp__agent_process_terminate(arcp__agent_process *process)
{
    if (process->is_reaped || process->is_terminating || process->is_freed) {
        return;
    }
    process->is_terminating = true;
    if (process->process != NULL) {
        process->process->ops->signal(process->process, SIGTERM);
        uv_update_time(process->table->loop);
        (void)uv_timer_start(&process->timer, on_kill, process->table->kill_after_ms, 0);
    }
}

pid_t arcp__agent_process_pid(const arcp__agent_process *process)
{
    return process->process == NULL ? 0 : process->process->pid;
}

/* ---- its input: written, or queued while the pipe is full ---- */

typedef struct write_request {
    uv_write_t request;
    arcp__agent_process *process;
    bool is_last;
    arcp_buf bytes; /* not written at once; secret, because input can contain credentials */
} write_request;

static void close_input(arcp__agent_process *process)
{
    if (!process->input_closed) {
        process->input_closed = true;
        close_handle((uv_handle_t *)&process->input);
    }
}

static void on_written(uv_write_t *request, int status)
{
    write_request *written = (write_request *)request;
    /* A program that has closed its input is not an error: how it exits decides about the job. */
    if (written->is_last || status != 0) {
        close_input(written->process);
    }
    arcp_buf_fini(&written->bytes);
    arcp__free(written);
}

/* Appends a line feed, or closes the input after the bytes (`is_last`). */
static arcp_status write_bytes(arcp__agent_process *process, arcp_span bytes, bool is_last)
{
    uv_stream_t *input = (uv_stream_t *)&process->input;
    const size_t queued = uv_stream_get_write_queue_size(input);
    char end[] = "\n";
    const size_t end_size = is_last ? 0 : 1;
    const size_t size = bytes.size + end_size;
    if (process->input_closed || process->is_freed) {
        return ARCP_OK;
    }
    if (queued > process->input_bytes_max || size > UINT32_MAX) {
        return ARCP_E_LIMIT;
    }
    /* libuv does not change the bytes, but its type is not const. */
    union {
        const char *from;
        char *to;
    } first = {bytes.data};
    const uv_buf_t parts[2] = {uv_buf_init(first.to, (unsigned)bytes.size),
                               uv_buf_init(end, (unsigned)end_size)};
    const int written = size == 0 && queued == 0 ? 0 : uv_try_write(input, parts, 2);
    if (written < 0 && written != UV_EAGAIN) {
        close_input(process);
        return ARCP_OK;
    }
    if (written >= 0 && (size_t)written == size) {
        if (is_last) {
            close_input(process);
        }
        return ARCP_OK;
    }
    write_request *request = arcp__alloc(sizeof *request);
    if (request == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    *request =
        (write_request){.process = process, .is_last = is_last, .bytes = arcp_buf_secret_init()};
    arcp_buf_append(&request->bytes, bytes);
    arcp_buf_append(&request->bytes, arcp_span_make(end, end_size));
    const arcp_status status = arcp_buf_status(&request->bytes);
    const size_t skip = written < 0 ? 0 : (size_t)written;
    uv_buf_t rest = status != ARCP_OK ? uv_buf_init(NULL, 0)
                                      : uv_buf_init(request->bytes.data + skip,
                                                    (unsigned)(request->bytes.size - skip));
    if (status != ARCP_OK || uv_write(&request->request, input, &rest, 1, on_written) != 0) {
        arcp_buf_fini(&request->bytes);
        arcp__free(request);
    }
    return status;
}

arcp_status arcp__agent_process_write(arcp__agent_process *process, arcp_span line)
{
    return write_bytes(process, line, false);
}

arcp_status arcp__agent_process_write_last(arcp__agent_process *process, arcp_span bytes)
{
    return write_bytes(process, bytes, true);
}

/* ---- starting ---- */

static void close_ends(int ends[3])
{
    for (int i = 0; i < 3; i++) {
        if (ends[i] >= 0) {
            (void)close(ends[i]);
            ends[i] = -1;
        }
    }
}

/* Our ends are non-blocking; those of the program are blocking, as programs expect. */
static arcp_status make_pipes(int ours[3], int theirs[3], arcp_error *err)
{
    for (int i = 0; i < 3; i++) {
        int fds[2];
        const int result =
            uv_pipe(fds, i == 0 ? 0 : UV_NONBLOCK_PIPE, i == 0 ? UV_NONBLOCK_PIPE : 0);
        if (result != 0) {
            close_ends(ours);
            close_ends(theirs);
            return arcp_error_set(err, ARCP_E_IO, "cannot create a pipe: %s", uv_strerror(result));
        }
        ours[i] = fds[i == 0 ? 1 : 0];
        theirs[i] = fds[i == 0 ? 0 : 1];
    }
    return ARCP_OK;
}

/* Closes the program's ends. */
static void close_theirs(arcp__agent_process *process)
{
    close_ends(process->theirs);
    arcp__close(process->cgroup_fd);
    arcp__cgroup_close(process->limit_fds);
    if (process->sandbox != NULL) {
        arcp__process_sandbox_close_theirs(process->sandbox);
    }
}

/* Opens its handles and requests the start of its program. */
static arcp_status launch(arcp__agent_process *process, const arcp__process_spec *spec,
                          arcp_error *err)
{
    const arcp__process_table *table = process->table;
    uv_pipe_t *pipes[3] = {&process->input, &process->output.pipe, &process->errors.pipe};
    int ours[3] = {-1, -1, -1};
    arcp_status status = make_pipes(ours, process->theirs, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_launch_spec launch = arcp_launch_spec_init();
    arcp_confinement confinement = arcp_confinement_init();
    status = arcp__agent_process_take_cgroup(process, spec, &launch, err);
    launch.argv = spec->argv;
    launch.env = spec->env;
    launch.cwd = spec->cwd;
    launch.user = spec->user;
    launch.stdin_fd = process->theirs[0];
    launch.stdout_fd = process->theirs[1];
    launch.stderr_fd = process->theirs[2];
    launch.limits = spec->limits;
    launch.limit_count = spec->limit_count;
    launch.oom_score_more = table->oom_score_more;
    if (spec->confinement != NULL && process->sandbox != NULL) {
        confinement.plan = spec->confinement->plan;
        confinement.etc = spec->confinement->etc;
        confinement.ca_certificate = spec->confinement->ca_certificate;
        confinement.control_fd = process->sandbox->theirs;
        launch.confinement = &confinement;
    }
    if (status == ARCP_OK) {
        status = arcp__starter_request(table->starter, &launch, process, err);
    }
    if (status != ARCP_OK) {
        close_ends(ours);
        close_theirs(process);
        arcp__cgroups_end(table->cgroups, process->cgroup);
        return status;
    }
    (void)uv_timer_init(table->loop, &process->timer);
    process->timer.data = process;
    for (int i = 0; i < 3; i++) {
        (void)uv_pipe_init(table->loop, pipes[i], 0);
        pipes[i]->data = process;
        /* This cannot fail: it only reads the flags of a descriptor that is open. */
        (void)uv_pipe_open(pipes[i], ours[i]);
    }
    process->open_handles = 4;
    if (process->sandbox != NULL) {
        arcp__process_sandbox_watch(process);
        process->open_handles++;
    }
    return ARCP_OK;
}

static arcp_status watch(arcp__agent_process *process, arcp__start *start)
{
    if (start->status != ARCP_OK) {
        return start->status;
    }
    /* A process whose vtable cannot be called is left to its launcher. */
    const arcp_status status =
        arcp__vtable_check(start->process->ops, ARCP__END_OF(arcp_process_ops, free),
                           sizeof(arcp_process_ops), "arcp_process_ops", &start->error);
    if (status != ARCP_OK) {
        arcp__children_remove(start->process->pid);
        return status;
    }
    const int result = uv_poll_init(process->table->loop, &process->exit, start->process->exit_fd);
    if (result != 0) {
        arcp__children_remove(start->process->pid);
        start->process->ops->free(start->process);
        return arcp_error_set(&start->error, ARCP_E_IO, "cannot watch the process: %s",
                              uv_strerror(result));
    }
    process->process = start->process;
    process->exit.data = process;
    process->open_handles++;
    (void)uv_poll_start(&process->exit, UV_READABLE, on_exit_readable);
    return ARCP_OK;
}

/* Before the owner is called, which may request the next start. */
static void reap_if_due(arcp__process_table *table)
{
    if (table->reaps_later && !arcp__starter_is_busy(table->starter)) {
        table->reaps_later = false;
        arcp__process_table_reap(table);
    }
}

void arcp__agent_process_started(arcp__start *start)
{
    arcp__agent_process *process = start->owner;
    arcp__process_table *table = process->table;
    const arcp_status status = watch(process, start);
    close_theirs(process);
    if (status != ARCP_OK) {
        process->is_reaped = true;
        DL_DELETE(table->processes, process);
        arcp__cgroups_end(table->cgroups, process->cgroup);
        reap_if_due(table);
        if (process->is_freed) {
            close_all(process);
        } else {
            process->is_reported = true;
            process->callbacks.started(process->callbacks.user, status, start->error.message);
        }
        return;
    }
    if (table->directory != NULL && process->process->pid > 0) {
        arcp__work_directory_note(table->directory, process->process->pid);
    }
    if (process->is_killed) {
        process->is_killed = false; /* nothing was killed yet */
        arcp__agent_process_kill(process);
    } else if (process->is_terminating) {
        process->is_terminating = false;
        arcp__agent_process_terminate(process);
    }
    reap_if_due(table);
    if (!process->is_freed) {
        process->callbacks.started(process->callbacks.user, ARCP_OK, "");
    }
    /* Does nothing if the callback freed the process. */
    arcp__agent_process_read(process);
}

arcp_status arcp__agent_process_start(arcp__process_table *table, const arcp__process_spec *spec,
                                      const arcp__agent_process_callbacks *callbacks,
                                      arcp__agent_process **out, arcp_error *err)
{
    arcp__agent_process *process = arcp__alloc(sizeof *process);
    char *directory =
        spec->makes_cwd && process != NULL ? arcp__copy_cstr(spec->cwd, strlen(spec->cwd)) : NULL;
    if (process == NULL || (spec->makes_cwd && directory == NULL)) {
        arcp__free(process);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    process->table = table;
    for (int i = 0; i < 3; i++) {
        process->theirs[i] = -1; /* zero is a descriptor of ours */
    }
    process->directory = directory;
    process->callbacks = *callbacks;
    process->is_plain = spec->is_plain;
    process->line_bytes_max = spec->line_bytes_max;
    process->input_bytes_max = spec->input_bytes_max == 0 ? INPUT_BYTES_MAX : spec->input_bytes_max;
    arcp_status status =
        directory == NULL ? ARCP_OK : arcp__directory_make(directory, spec->user, err);
    const bool is_made = status == ARCP_OK;
    if (status == ARCP_OK && directory != NULL && spec->file_name != NULL) {
        status = arcp__directory_add(directory, spec->file_name, spec->file_text, spec->user, err);
    }
    if (status == ARCP_OK && spec->confinement != NULL) {
        status = arcp__process_sandbox_new(spec->confinement, spec->user, &process->sandbox, err);
    }
    if (status == ARCP_OK) {
        status = launch(process, spec, err);
    }
    if (status != ARCP_OK) {
        process->directory = is_made ? directory : NULL;
        remove_directories(process);
        arcp__process_sandbox_free(process->sandbox);
        arcp__free(directory);
        arcp__free(process);
        return status;
    }
    table->refs++;
    DL_APPEND(table->processes, process);
    *out = process;
    return ARCP_OK;
}
