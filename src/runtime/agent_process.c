/* The end of a program, in order:
 *
 *   the pidfd becomes readable   the program is a zombie: its pid, and so its group's id,
 *                                cannot be anybody else's yet
 *   SIGKILL to the group         whatever it left behind in its group goes with it
 *   reaped                       exit status or signal is known
 *   standard output ends         or 1 s passes, when something outside the group holds it
 *   exited                       the last line without a line feed first */
#include "runtime/agent_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arcp/buf.h>

#include "base/alloc.h"
#include "runtime/process_launch.h"

#define INPUT_BYTES_MAX 16777216u
#define KILL_AFTER_MS   5000u
#define DRAIN_MS        1000u
#define STDERR_TAIL     2048u
#define STDERR_LINE_MAX 65536u
#define READ_BYTES      65536u

struct arcp__agent_process {
    uv_loop_t *loop;
    pid_t pid;
    int process_fd;
    uv_pipe_t input, output, errors;
    uv_poll_t end;
    uv_timer_t timer; /* first the kill's, then the drain's */
    unsigned open_handles;
    arcp__agent_process_callbacks callbacks;
    bool has_callbacks;
    bool is_plain;
    bool is_paused;
    bool is_reaped;
    bool output_ended, errors_ended;
    bool input_closed;
    bool is_terminating;
    bool is_told; /* exited was called, or nobody wants it */
    bool is_freed;
    bool skip_output; /* a line was too long */
    bool by_signal;
    int code;
    size_t line_bytes_max;
    arcp_buf line; /* a line that is not complete yet */
    arcp_buf error_line;
    arcp_buf tail;     /* the last bytes of standard error */
    char *read_buffer; /* owned; one per process, while it is read */
};

typedef struct write_request {
    uv_write_t request;
    arcp__agent_process *process;
    bool last;
    arcp_buf bytes;
} write_request;

/* ---- freeing ---- */

static void on_handle_closed(uv_handle_t *handle)
{
    arcp__agent_process *process = handle->data;
    if (--process->open_handles != 0) {
        return;
    }
    arcp_buf_fini(&process->line);
    arcp_buf_fini(&process->error_line);
    arcp_buf_fini(&process->tail);
    arcp__free(process->read_buffer);
    if (process->process_fd >= 0) {
        (void)close(process->process_fd);
    }
    arcp__free(process);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, on_handle_closed);
    }
}

static void close_all(arcp__agent_process *process)
{
    close_handle((uv_handle_t *)&process->input);
    close_handle((uv_handle_t *)&process->output);
    close_handle((uv_handle_t *)&process->errors);
    close_handle((uv_handle_t *)&process->end);
    close_handle((uv_handle_t *)&process->timer);
}

void arcp__agent_process_free(arcp__agent_process *process)
{
    if (process == NULL || process->is_freed) {
        return;
    }
    process->is_freed = true;
    process->is_told = true;
    if (process->is_reaped) {
        close_all(process);
        return;
    }
    /* Its end is still awaited, so that no zombie stays. */
    (void)kill(-process->pid, SIGKILL);
    (void)uv_read_stop((uv_stream_t *)&process->output);
    (void)uv_read_stop((uv_stream_t *)&process->errors);
}

/* ---- its end ---- */

static void say_line(arcp__agent_process *process, arcp_span line)
{
    if (!process->is_told && !process->skip_output) {
        process->callbacks.line(process->callbacks.user, line);
    }
}

static void finish(arcp__agent_process *process)
{
    if (process->is_told || !process->has_callbacks || !process->is_reaped ||
        !process->output_ended) {
        return;
    }
    if (!process->is_plain && process->line.size != 0) {
        say_line(process, arcp_buf_span(&process->line));
        arcp_buf_clear(&process->line);
    }
    if (process->error_line.size != 0) {
        process->callbacks.log(process->callbacks.user, arcp_buf_span(&process->error_line));
        arcp_buf_clear(&process->error_line);
    }
    if (!process->is_told) {
        process->is_told = true;
        (void)uv_timer_stop(&process->timer);
        process->callbacks.exited(process->callbacks.user, process->by_signal, process->code,
                                  arcp_buf_span(&process->tail));
    }
}

static void on_drained(uv_timer_t *timer)
{
    arcp__agent_process *process = timer->data;
    process->output_ended = true;
    (void)uv_read_stop((uv_stream_t *)&process->output);
    finish(process);
}

static void on_end(uv_poll_t *poll, int status, int events)
{
    arcp__agent_process *process = poll->data;
    siginfo_t info = {0};
    (void)status;
    (void)events;
    if (waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0) {
        return;
    }
    (void)kill(-process->pid, SIGKILL);
    (void)waitid(P_PID, (id_t)process->pid, &info, WEXITED);
    process->is_reaped = true;
    process->by_signal = info.si_code != CLD_EXITED;
    process->code = info.si_status;
    (void)uv_poll_stop(&process->end);
    if (process->is_freed) {
        close_all(process);
        return;
    }
    (void)uv_timer_start(&process->timer, on_drained, DRAIN_MS, 0);
    if (process->is_paused) {
        arcp__agent_process_pause(process, false); /* the rest fits a pipe */
    }
    finish(process);
}

/* ---- reading ---- */

static void on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    arcp__agent_process *process = handle->data;
    if (process->read_buffer == NULL) {
        process->read_buffer = arcp__alloc(READ_BYTES);
    }
    *out = uv_buf_init(process->read_buffer, process->read_buffer == NULL ? 0 : READ_BYTES);
}

static bool is_over_long(const arcp__agent_process *process, size_t more)
{
    return process->line.size + more > process->line_bytes_max;
}

static void refuse_line(arcp__agent_process *process)
{
    process->skip_output = true;
    arcp_buf_clear(&process->line);
    if (!process->is_told) {
        process->callbacks.line_too_long(process->callbacks.user);
    }
}

/* Cuts lines; what a read completes is delivered at once. */
static void take_lines(arcp__agent_process *process, arcp_span bytes)
{
    while (bytes.size != 0 && !process->skip_output && !process->is_told) {
        const char *end = memchr(bytes.data, '\n', bytes.size);
        size_t size = end == NULL ? bytes.size : (size_t)(end - bytes.data);
        if (is_over_long(process, size)) {
            refuse_line(process);
            return;
        }
        if (end == NULL) {
            arcp_buf_append(&process->line, bytes);
            return;
        }
        if (process->line.size == 0) {
            say_line(process, arcp_span_first(bytes, size));
        } else {
            arcp_buf_append(&process->line, arcp_span_first(bytes, size));
            say_line(process, arcp_buf_span(&process->line));
            arcp_buf_clear(&process->line);
        }
        bytes = arcp_span_from(bytes, size + 1);
    }
}

static void on_output(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    arcp__agent_process *process = stream->data;
    if (size == 0 || size == UV_ENOBUFS) {
        return;
    }
    if (size < 0) {
        (void)uv_read_stop(stream);
        process->output_ended = true;
        finish(process);
        return;
    }
    arcp_span bytes = arcp_span_make(buffer->base, (size_t)size);
    if (!process->is_plain) {
        take_lines(process, bytes);
    } else if (!process->is_told) {
        process->callbacks.output(process->callbacks.user, bytes);
    }
}

static void keep_tail(arcp__agent_process *process, arcp_span bytes)
{
    arcp_buf_append(&process->tail, bytes);
    if (process->tail.size > STDERR_TAIL) {
        arcp_buf_consume(&process->tail, process->tail.size - STDERR_TAIL);
    }
}

static void on_errors(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    arcp__agent_process *process = stream->data;
    if (size <= 0) {
        if (size < 0 && size != UV_ENOBUFS) {
            (void)uv_read_stop(stream);
            process->errors_ended = true;
        }
        return;
    }
    arcp_span bytes = arcp_span_make(buffer->base, (size_t)size);
    keep_tail(process, bytes);
    while (bytes.size != 0 && !process->is_told) {
        const char *end = memchr(bytes.data, '\n', bytes.size);
        size_t part = end == NULL ? bytes.size : (size_t)(end - bytes.data);
        arcp_buf_append(&process->error_line, arcp_span_first(bytes, part));
        if (end != NULL || process->error_line.size > STDERR_LINE_MAX) {
            process->callbacks.log(process->callbacks.user, arcp_buf_span(&process->error_line));
            arcp_buf_clear(&process->error_line);
        }
        bytes = arcp_span_from(bytes, end == NULL ? part : part + 1);
    }
}

void arcp__agent_process_pause(arcp__agent_process *process, bool paused)
{
    process->is_paused = paused;
    if (!process->has_callbacks || process->output_ended || process->is_freed) {
        return;
    }
    if (paused && !process->is_reaped) {
        (void)uv_read_stop((uv_stream_t *)&process->output);
    } else {
        (void)uv_read_start((uv_stream_t *)&process->output, on_allocate, on_output);
    }
}

void arcp__agent_process_set_callbacks(arcp__agent_process *process,
                                       const arcp__agent_process_callbacks *callbacks)
{
    process->callbacks = *callbacks;
    process->has_callbacks = true;
    (void)uv_read_start((uv_stream_t *)&process->output, on_allocate, on_output);
    (void)uv_read_start((uv_stream_t *)&process->errors, on_allocate, on_errors);
}

/* ---- writing ---- */

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
    (void)status; /* a program that closed its input is no error: its exit tells */
    if (written->last) {
        close_input(written->process);
    }
    arcp_buf_fini(&written->bytes);
    arcp__free(written);
}

static void write_bytes(arcp__agent_process *process, arcp_span bytes, bool with_feed, bool last)
{
    if (process->input_closed || process->is_freed) {
        return;
    }
    write_request *request = arcp__alloc(sizeof(*request));
    if (request == NULL) {
        (void)kill(-process->pid, SIGKILL);
        return;
    }
    request->process = process;
    request->last = last;
    arcp_buf_append(&request->bytes, bytes);
    if (with_feed) {
        arcp_buf_append_byte(&request->bytes, '\n');
    }
    uv_buf_t buffer = uv_buf_init(request->bytes.data, (unsigned)request->bytes.size);
    size_t queued = uv_stream_get_write_queue_size((uv_stream_t *)&process->input);
    if (request->bytes.failed || queued + request->bytes.size > INPUT_BYTES_MAX ||
        uv_write(&request->request, (uv_stream_t *)&process->input, &buffer, 1, on_written) != 0) {
        arcp_buf_fini(&request->bytes);
        arcp__free(request);
        (void)kill(-process->pid, SIGKILL);
    }
}

void arcp__agent_process_write(arcp__agent_process *process, arcp_span line)
{
    write_bytes(process, line, true, false);
}

void arcp__agent_process_write_last(arcp__agent_process *process, arcp_span bytes)
{
    if (bytes.size == 0) {
        close_input(process);
        return;
    }
    write_bytes(process, bytes, false, true);
}

/* ---- stopping ---- */

static void on_kill(uv_timer_t *timer)
{
    arcp__agent_process *process = timer->data;
    if (!process->is_reaped) {
        (void)kill(-process->pid, SIGKILL);
    }
}

void arcp__agent_process_terminate(arcp__agent_process *process)
{
    if (process->is_reaped || process->is_terminating || process->is_freed) {
        return;
    }
    process->is_terminating = true;
    (void)kill(-process->pid, SIGTERM);
    (void)uv_timer_start(&process->timer, on_kill, KILL_AFTER_MS, 0);
}

pid_t arcp__agent_process_pid(const arcp__agent_process *process)
{
    return process->pid;
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
static bool make_pipes(pipe_ends *ends)
{
    *ends = (pipe_ends){{-1, -1, -1}, {-1, -1, -1}};
    for (int at = 0; at < 3; at++) {
        int fds[2];
        if (pipe2(fds, O_CLOEXEC) != 0) {
            close_ends(ends->ours);
            close_ends(ends->theirs);
            return false;
        }
        ends->ours[at] = fds[at == 0 ? 1 : 0];
        ends->theirs[at] = fds[at == 0 ? 0 : 1];
        (void)fcntl(ends->ours[at], F_SETFL, O_NONBLOCK);
    }
    return true;
}

static void open_handles(arcp__agent_process *process, const pipe_ends *ends)
{
    uv_pipe_t *pipes[3] = {&process->input, &process->output, &process->errors};
    for (int at = 0; at < 3; at++) {
        (void)uv_pipe_init(process->loop, pipes[at], 0);
        (void)uv_pipe_open(pipes[at], ends->ours[at]);
        pipes[at]->data = process;
    }
    (void)uv_poll_init(process->loop, &process->end, process->process_fd);
    (void)uv_timer_init(process->loop, &process->timer);
    process->end.data = process;
    process->timer.data = process;
    process->open_handles = 5;
    (void)uv_poll_start(&process->end, UV_READABLE, on_end);
}

arcp_status arcp__agent_process_start(uv_loop_t *loop, const arcp__agent_spec *spec,
                                      arcp__agent_process **out, arcp_error *err)
{
    arcp__agent_process *process = arcp__alloc(sizeof(*process));
    pipe_ends ends;
    if (process == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (!make_pipes(&ends)) {
        arcp__free(process);
        return arcp_error_set(err, ARCP_E_IO, "no pipe can be had: %s", strerror(errno));
    }
    arcp__launch_spec launch = {
        .argv = spec->argv,
        .env = spec->env,
        .cwd = spec->cwd,
        .user = spec->user,
        .stdin_fd = ends.theirs[0],
        .stdout_fd = ends.theirs[1],
        .stderr_fd = ends.theirs[2],
    };
    arcp__launched launched;
    arcp_status status = arcp__process_launch(&launch, &launched, err);
    close_ends(ends.theirs);
    if (status != ARCP_OK) {
        close_ends(ends.ours);
        arcp__free(process);
        return status;
    }
    process->loop = loop;
    process->pid = launched.pid;
    process->process_fd = launched.process_fd;
    process->line_bytes_max = spec->line_bytes_max;
    process->is_plain = spec->is_plain;
    open_handles(process, &ends);
    *out = process;
    return ARCP_OK;
}
