/* arcp_open_stdio and arcp_spawn_stdio: descriptors and programs as streams of lines. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <arcp/sys/transport.h>

#include "base/alloc.h"
#include "base/options.h"
#include "stream/stream.h"
#include "transport/command_words.h"
#include "transport/line_connection.h"

/* Whether the descriptor is open in a way that can be read, or written. */
static arcp_status check_access(int fd, int wanted, arcp_error *err)
{
    int flags = fcntl(fd, F_GETFL);
    int mode = flags & O_ACCMODE;
    if (flags < 0) {
        return arcp_error_set(err, ARCP_E_IO, "file descriptor %d is not open", fd);
    }
    if (mode != O_RDWR && mode != wanted) {
        return arcp_error_set(err, ARCP_E_IO, "file descriptor %d cannot be %s", fd,
                              wanted == O_RDONLY ? "read" : "written");
    }
    return ARCP_OK;
}

/* A stream over a duplicate, so that a failure further on leaves the caller's own open. */
static arcp_status copy_stream(arcp__loop_share *share, int fd, arcp__stream **out, arcp_error *err)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (copy < 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot duplicate file descriptor %d: %s", fd,
                              strerror(errno));
    }
    arcp_status status = arcp__fd_stream_new(share, copy, out, err);
    if (status != ARCP_OK) {
        close(copy);
    }
    return status;
}

static arcp_status open_streams(arcp__loop_share *share, int input, int output, arcp__stream **in,
                                arcp__stream **out, arcp_error *err)
{
    arcp_status status = check_access(input, O_RDONLY, err);
    if (status == ARCP_OK) {
        status = check_access(output, O_WRONLY, err);
    }
    if (status == ARCP_OK) {
        status = copy_stream(share, input, in, err);
    }
    if (status == ARCP_OK && input == output) {
        *out = *in;
    } else if (status == ARCP_OK) {
        status = copy_stream(share, output, out, err);
        if (status != ARCP_OK) {
            arcp__stream_close(in);
        }
    }
    return status;
}

static arcp_status lines_over(arcp__loop_share *share, int input, int output, const char *peer,
                              const arcp_stdio_options *options, arcp__line_connection **out,
                              arcp_error *err)
{
    arcp__line_connection_options parts = {
        .share = share,
        .peer = peer,
        .frame_bytes_max = options->frame_bytes_max,
        .close_timeout_ms = options->close_timeout_ms,
    };
    arcp_status status = open_streams(share, input, output, &parts.in, &parts.out, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp__line_connection_new(&parts, out, err);
    if (status != ARCP_OK) {
        if (parts.out != parts.in) {
            arcp__stream_close(&parts.out);
        }
        arcp__stream_close(&parts.in);
        return status;
    }
    if (input > STDERR_FILENO) {
        close(input);
    }
    if (output > STDERR_FILENO && output != input) {
        close(output);
    }
    return ARCP_OK;
}

static arcp_status new_lines(uv_loop_t *loop, int input, int output, const char *peer,
                             const arcp_stdio_options *given, arcp__line_connection **out,
                             arcp_error *err)
{
    arcp_status status = arcp__options_check(given, sizeof(*given), "ARCP_STDIO_OPTIONS_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    const arcp_stdio_options defaults = ARCP_STDIO_OPTIONS_INIT;
    arcp__loop_share *share = arcp__loop_share_new(loop);
    if (share == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    status = lines_over(share, input, output, peer, given == NULL ? &defaults : given, out, err);
    arcp__loop_share_unref(share); /* the connection has its own */
    return status;
}

/* [arcp:4-2] */
arcp_status arcp_open_stdio(uv_loop_t *loop, int input, int output,
                            const arcp_stdio_options *options, arcp_connection **out,
                            arcp_error *err)
{
    arcp__line_connection *connection = NULL;
    arcp_status status = new_lines(loop, input, output, "stdio", options, &connection, err);
    if (status == ARCP_OK) {
        *out = arcp__line_connection_base(connection);
    }
    return status;
}

/* [arcp:4-2] */
arcp_status arcp_spawn_stdio(uv_loop_t *loop, const char *command,
                             const arcp_stdio_options *options, arcp_connection **out,
                             arcp_error *err)
{
    char **words = NULL;
    arcp_status status = arcp__command_words(arcp_span_cstr(command), &words, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__child_process *child = NULL;
    arcp__child_pipes pipes = {-1, -1};
    arcp__line_connection *connection = NULL;
    status = arcp__child_process_start(loop, words, &child, &pipes, err);
    if (status == ARCP_OK) {
        status = new_lines(loop, pipes.from, pipes.to, words[0], options, &connection, err);
        if (status != ARCP_OK) {
            close(pipes.from);
            close(pipes.to);
            arcp__child_process_release(child);
        }
    }
    arcp__free(words);
    if (status == ARCP_OK) {
        arcp__line_connection_own(connection, child);
        *out = arcp__line_connection_base(connection);
    }
    return status;
}
