/* arcp_open_stdio, arcp_spawn_stdio and local sockets: frames as lines over one or two streams,
 * optionally with a child process.
 *
 * Closing: when the peer's input ends, an owner with an input_over callback is notified and closes
 * when it likes; otherwise the connection closes. Our side writes what is buffered and closes its
 * output, which the peer reads as our close. With two descriptors that is all. With one socket we
 * wait for the peer's end, because closing with unread input would reset the connection and could
 * lose our output; with a child process we wait for its exit. The timer limits both. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/options.h"
#include "transport/command_words.h"
#include "transport/line_reader.h"
#include "transport/local_connection.h"
#include "transport/stream_connection.h"

typedef struct line_connection line_connection;

/* It has its own session and process group. The struct lives until the exit was reported: until
 * then the process id cannot be reused. */
typedef struct child_process {
    uv_process_t process;
    line_connection *owner; /* NULL: its exit is of no interest */
    bool running;
} child_process;

struct line_connection {
    arcp__stream_connection base;
    arcp__line_reader reader;
    child_process *child; /* NULL: none */
    int64_t exit_status;  /* once exited */
    int exit_signal;
    bool exited;
    bool input_over_sent; /* the owner was notified */
    bool closed_by_us;    /* before the peer's end */
    bool finished;        /* our output is closed */
    bool is_local_socket; /* whose peer reads no more once its input has ended */
    bool unwritable;      /* our output is broken; the program's exit will explain why */
};

/* ---- lines ---- */

static arcp_status line_encode(arcp__stream_connection *base, arcp_span frame, arcp_buf *out)
{
    if (frame.size == 0 || memchr(frame.data, '\n', frame.size) != NULL) {
        return ARCP_E_INVALID_REQUEST;
    }
    if (!arcp_buf_reserve(out, frame.size + 1)) {
        out->failed = false; /* its content is unchanged */
        return ARCP_E_NO_MEMORY;
    }
    arcp_buf_append(out, frame);
    arcp_buf_append_byte(out, '\n');
    return ARCP_OK;
}

/* Closes because of an error of the peer, which stays the reason however the connection ends. */
static void fault(arcp__stream_connection *base, arcp_close_code code, const char *why)
{
    base->peer_at_fault = true;
    arcp__stream_connection_begin_close(base, (uint16_t)code, arcp_span_cstr(why));
}

static void take_event(arcp__stream_connection *base, arcp__line_event event, arcp_span line)
{
    if (event == ARCP__LINE) {
        arcp__stream_connection_deliver(base, line);
    } else if (event == ARCP__LINE_TOO_LONG) {
        fault(base, ARCP_CLOSE_TOO_BIG, "the line is too long");
    } else if (event == ARCP__LINE_NO_MEMORY) {
        fault(base, ARCP_CLOSE_INTERNAL, "out of memory");
    }
}

static void line_input(arcp__stream_connection *base, arcp_span *input)
{
    line_connection *connection = (line_connection *)base;
    arcp__line_event event = ARCP__LINE;
    while (event != ARCP__LINE_NONE && !arcp__stream_connection_is_stopped(base)) {
        arcp_span line = {NULL, 0};
        event = arcp__line_reader_next(&connection->reader, input, &line);
        take_event(base, event, line);
    }
}

static void line_advance(arcp__stream_connection *base)
{
    line_connection *connection = (line_connection *)base;
    const bool is_socket = base->out == base->in;
    if (!connection->finished && !base->input_ended && !connection->exited) {
        connection->closed_by_us = true;
    }
    if (!connection->unwritable && arcp__stream_connection_is_writing(base)) {
        return; /* called again when everything is written */
    }
    if (!connection->finished) {
        connection->finished = true;
        if (is_socket) {
            base->out->ops->finish(base->out);
        } else {
            arcp__stream_close(&base->out);
        }
    }
    if (connection->child != NULL ? connection->exited : !is_socket || base->input_ended) {
        arcp__stream_connection_end(base);
    }
}

static void line_input_ended(arcp__stream_connection *base)
{
    line_connection *connection = (line_connection *)base;
    arcp_span line = {NULL, 0};
    const arcp__line_event event = arcp__line_reader_last(&connection->reader, &line);
    take_event(base, event, line);
    if (base->state == ARCP__CONNECTION_CLOSING) {
        line_advance(base);
    } else if (base->state == ARCP__CONNECTION_OPEN) {
        /* A program that has closed its output no longer reads its input either. */
        if (connection->child != NULL || connection->is_local_socket ||
            base->callbacks.input_over == NULL) {
            arcp__stream_connection_begin_close(base, ARCP_CLOSE_NORMAL, arcp_span_cstr(""));
        } else if (!connection->input_over_sent) {
            connection->input_over_sent = true;
            base->callbacks.input_over(base->callbacks.user, &base->base);
        }
    }
}

/* When a program fails at its start, its exit status is more useful than "broken pipe". */
static void line_broken(arcp__stream_connection *base, const char *why)
{
    line_connection *connection = (line_connection *)base;
    connection->unwritable = true;
    if (connection->child == NULL || base->state != ARCP__CONNECTION_OPEN) {
        arcp__stream_connection_break(base, ARCP_CLOSE_ABNORMAL, why);
        return;
    }
    fault(base, ARCP_CLOSE_ABNORMAL, why);
    connection->closed_by_us = false;
}

static void on_child_closed(uv_handle_t *handle)
{
    arcp__free(handle->data);
}

static void child_release(child_process *child)
{
    child->owner = NULL;
    if (child->running) {
        kill(-uv_process_get_pid(&child->process), SIGKILL); /* its exit is reported later */
    } else {
        uv_close((uv_handle_t *)&child->process, on_child_closed);
    }
}

static void line_ended(arcp__stream_connection *base)
{
    line_connection *connection = (line_connection *)base;
    if (connection->child == NULL) {
        return;
    }
    /* If the program failed before we closed, its failure is the reason why the connection ended.
     */
    if (connection->exited && !connection->closed_by_us && connection->exit_signal != 0) {
        base->code = ARCP_CLOSE_ABNORMAL;
        snprintf(base->reason, sizeof base->reason, "the program was killed by signal %d",
                 connection->exit_signal);
    } else if (connection->exited && !connection->closed_by_us && connection->exit_status != 0) {
        base->code = ARCP_CLOSE_ABNORMAL;
        snprintf(base->reason, sizeof base->reason, "the program exited with status %lld",
                 (long long)connection->exit_status);
    }
    child_release(connection->child);
    connection->child = NULL;
}

static void line_free(arcp__stream_connection *base)
{
    arcp__line_reader_fini(&((line_connection *)base)->reader);
}

static const arcp__framing line_framing = {
    .encode = line_encode,
    .input = line_input,
    .input_ended = line_input_ended,
    .advance = line_advance,
    .broken = line_broken,
    .ended = line_ended,
    .free = line_free,
};

/* ---- over descriptors ---- */

/* Checks that the descriptor is open for reading, or for writing. */
static arcp_status check_access(int fd, int wanted, arcp_error *err)
{
    const int flags = fcntl(fd, F_GETFL);
    const int mode = flags & O_ACCMODE;
    if (flags < 0) {
        return arcp_error_set(err, ARCP_E_IO, "file descriptor %d is not open", fd);
    }
    if (mode != O_RDWR && mode != wanted) {
        return arcp_error_set(err, ARCP_E_IO, "file descriptor %d cannot be %s", fd,
                              wanted == O_RDONLY ? "read" : "written");
    }
    return ARCP_OK;
}

/* Opens a stream over a duplicate, so that the caller's descriptor stays open if a later step
 * fails. */
static arcp_status copy_stream(arcp__loop_share *share, int fd, arcp__stream **out, arcp_error *err)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (copy < 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot duplicate file descriptor %d: %s", fd,
                              strerror(errno));
    }
    const arcp_status status = arcp__fd_stream_new(share, copy, out, err);
    if (status != ARCP_OK) {
        close(copy);
    }
    return status;
}

static arcp_status open_lines(uv_loop_t *loop, int input, int output, const char *peer,
                              const arcp_stdio_options *given, line_connection **out,
                              arcp_error *err)
{
    arcp_stdio_options options = arcp_stdio_options_init();
    arcp_status status =
        arcp__options_take(&options, given, sizeof options, "arcp_stdio_options", err);
    if (status == ARCP_OK) {
        status = check_access(input, O_RDONLY, err);
    }
    if (status == ARCP_OK) {
        status = check_access(output, O_WRONLY, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp__loop_share *share = arcp__loop_share_new(loop);
    line_connection *connection = share == NULL ? NULL : arcp__alloc(sizeof *connection);
    if (connection == NULL) {
        arcp__loop_share_unref(share);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    arcp__stream_connection *base = &connection->base;
    status = copy_stream(share, input, &base->in, err);
    if (status == ARCP_OK && output == input) {
        base->out = base->in;
    } else if (status == ARCP_OK) {
        status = copy_stream(share, output, &base->out, err);
    }
    if (status != ARCP_OK) {
        arcp__stream_close(&base->in);
        arcp__free(connection);
        arcp__loop_share_unref(share);
        return status;
    }
    if (input > STDERR_FILENO) {
        close(input);
    }
    if (output > STDERR_FILENO && output != input) {
        close(output);
    }
    base->framing = &line_framing;
    base->transport = "stdio";
    base->local = true;
    base->close_timeout_ms = options.close_timeout_ms;
    arcp__stream_connection_init(base, share, peer);
    arcp__loop_share_unref(share); /* the connection has its own reference */
    connection->reader.line_bytes_max =
        options.frame_bytes_max == 0 ? ARCP_FRAME_BYTES_DEFAULT : options.frame_bytes_max;
    *out = connection;
    return ARCP_OK;
}

/* [arcp:4-2] */
arcp_status arcp_open_stdio(uv_loop_t *loop, int input, int output,
                            const arcp_stdio_options *options, arcp_connection **out,
                            arcp_error *err)
{
    line_connection *connection = NULL;
    const arcp_status status = open_lines(loop, input, output, "stdio", options, &connection, err);
    if (status == ARCP_OK) {
        *out = &connection->base.base;
    }
    return status;
}

arcp_status arcp__local_connection_new(uv_loop_t *loop, int fd, const char *peer,
                                       const arcp_stdio_options *options, arcp_connection **out,
                                       arcp_error *err)
{
    line_connection *connection = NULL;
    const arcp_status status = open_lines(loop, fd, fd, peer, options, &connection, err);
    if (status == ARCP_OK && connection != NULL) {
        connection->base.transport = "unix";
        connection->is_local_socket = true;
        *out = &connection->base.base;
    }
    return status;
}

/* ---- over a program's pipes ---- */

/* A process that the program started keeps its output open: do not wait for it. */
static void on_output_held(uv_timer_t *timer)
{
    arcp__stream_connection *base = timer->data;
    if (base->state == ARCP__CONNECTION_OPEN) {
        base->input_ended = true;
        line_input_ended(base);
    }
}

static void on_exit(uv_process_t *process, int64_t status, int signal)
{
    child_process *child = process->data;
    line_connection *connection = child->owner;
    child->running = false;
    if (connection == NULL) {
        uv_close((uv_handle_t *)process, on_child_closed);
        return;
    }
    connection->exited = true;
    connection->exit_status = status;
    connection->exit_signal = signal;
    if (connection->base.state == ARCP__CONNECTION_CLOSING) {
        line_advance(&connection->base);
    } else if (connection->base.state == ARCP__CONNECTION_OPEN) {
        /* Read the rest of its output first; the end follows. */
        uv_timer_start(&connection->base.timer, on_output_held, connection->base.close_timeout_ms,
                       0);
    }
}

/* Starts words[0], searched in PATH. The caller owns our ends of the pipes: the program reads from
 * *to and writes to *from. */
static arcp_status start_program(uv_loop_t *loop, char **words, child_process **out, int *to,
                                 int *from, arcp_error *err)
{
    int input[2] = {-1, -1};
    int output[2] = {-1, -1};
    child_process *child = arcp__alloc(sizeof *child);
    if (child == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a process");
    }
    int result = uv_pipe(input, 0, UV_NONBLOCK_PIPE);
    if (result == 0) {
        result = uv_pipe(output, UV_NONBLOCK_PIPE, 0);
        if (result != 0) {
            close(input[0]);
            close(input[1]);
        }
    }
    if (result != 0) {
        arcp__free(child);
        return arcp_error_set(err, ARCP_E_IO, "cannot create a pipe: %s", uv_strerror(result));
    }
    uv_stdio_container_t files[3] = {
        {.flags = UV_INHERIT_FD, .data.fd = input[0]},
        {.flags = UV_INHERIT_FD, .data.fd = output[1]},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
    };
    const uv_process_options_t options = {
        .exit_cb = on_exit,
        .file = words[0],
        .args = words,
        .flags = UV_PROCESS_DETACHED,
        .stdio = files,
        .stdio_count = 3,
    };
    child->process.data = child;
    result = uv_spawn(loop, &child->process, &options);
    close(input[0]);
    close(output[1]);
    if (result != 0) {
        close(input[1]);
        close(output[0]);
        uv_close((uv_handle_t *)&child->process, on_child_closed);
        return arcp_error_set(err, ARCP_E_IO, "cannot start %s: %s", words[0], uv_strerror(result));
    }
    child->running = true;
    *to = input[1];
    *from = output[0];
    *out = child;
    return ARCP_OK;
}

/* [arcp:4-2] */
arcp_status arcp_spawn_stdio(uv_loop_t *loop, const char *command,
                             const arcp_stdio_options *options, arcp_connection **out,
                             arcp_error *err)
{
    char **words = NULL;
    child_process *child = NULL;
    line_connection *connection = NULL;
    int to = -1;
    int from = -1;
    arcp_status status = arcp__command_words(arcp_span_cstr(command), &words, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = start_program(loop, words, &child, &to, &from, err);
    if (child != NULL) {
        status = open_lines(loop, from, to, words[0], options, &connection, err);
    }
    arcp__free(words);
    if (connection != NULL) {
        connection->child = child;
        child->owner = connection;
        *out = &connection->base.base;
    } else if (child != NULL) {
        close(from);
        close(to);
        child_release(child);
    }
    return status;
}
