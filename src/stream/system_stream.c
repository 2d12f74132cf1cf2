/* Streams over descriptors: libuv handles (TCP, pipes, local sockets, terminals), and files. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "stream/stream.h"

typedef struct handle_stream {
    arcp__stream base;
    arcp__loop_share *share;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
        uv_tty_t tty;
    } uv;
    /* Only one is active at a time: connect comes first, shutdown last. */
    union {
        uv_connect_t connect;
        uv_write_t write;
        uv_shutdown_t shutdown;
    } request;
    void (*connected)(void *user, int result);
    void *connected_user;
    arcp_buf writing; /* its first writing_done bytes are written */
    size_t writing_done;
    size_t writing_piece; /* bytes after those that are being written */
    int status_flags;     /* to restore at close; -1: none */
    bool closed;
} handle_stream;

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    const handle_stream *stream = handle->data;
    char *buffer = arcp__loop_share_read_buffer(stream->share);
    /* Given an empty buffer, libuv reports UV_ENOBUFS. */
    *out = uv_buf_init(buffer, buffer == NULL ? 0 : (unsigned)ARCP__READ_BUFFER_BYTES);
}

/* Calls `ended` for a libuv error or UV_EOF. */
static void report_end(const arcp__stream *stream, int code)
{
    arcp_error err = {0};
    if (code != UV_EOF) {
        arcp_error_set(&err, ARCP_E_IO, "%s", uv_strerror(code));
    }
    stream->events.ended(stream->events.user, code == UV_EOF ? NULL : &err);
}

static void on_read(uv_stream_t *handle, ssize_t count, const uv_buf_t *buffer)
{
    const handle_stream *stream = handle->data;
    if (count > 0) {
        const arcp_span bytes = arcp_span_make(buffer->base, (size_t)count);
        stream->base.events.bytes(stream->base.events.user, bytes);
    } else if (count < 0) {
        uv_read_stop(handle);
        report_end(&stream->base, (int)count);
    }
}

static void stream_start(arcp__stream *base)
{
    handle_stream *stream = (handle_stream *)base;
    if (!uv_is_closing(&stream->uv.handle)) {
        /* It fails only for handles that cannot be read, and we create none. */
        const int result = uv_read_start(&stream->uv.stream, on_alloc, on_read);
        assert(result == 0 || result == UV_EALREADY || result == UV_ENOTCONN);
        (void)result;
    }
}

static void stream_stop(arcp__stream *base)
{
    handle_stream *stream = (handle_stream *)base;
    uv_read_stop(&stream->uv.stream);
}

static int write_piece(handle_stream *stream);

static void on_written(uv_write_t *request, int result)
{
    handle_stream *stream = request->handle->data;
    const size_t piece = stream->writing_piece;
    if (stream->closed) {
        return;
    }
    stream->writing_done += piece;
    if (result == 0 && stream->writing_done < stream->writing.size) {
        result = write_piece(stream);
    } else if (result == 0) {
        arcp__loop_share_give_buffer(stream->share, &stream->writing);
    }
    if (result < 0) {
        uv_read_stop(&stream->uv.stream);
        report_end(&stream->base, result);
        return;
    }
    stream->base.events.written(stream->base.events.user, piece);
}

static int write_piece(handle_stream *stream)
{
    const size_t left = stream->writing.size - stream->writing_done;
    stream->writing_piece = left < ARCP__WRITE_PIECE_BYTES ? left : ARCP__WRITE_PIECE_BYTES;
    const uv_buf_t buffer =
        uv_buf_init(stream->writing.data + stream->writing_done, (unsigned)stream->writing_piece);
    return uv_write(&stream->request.write, &stream->uv.stream, &buffer, 1, on_written);
}

static bool stream_write(arcp__stream *base, arcp_buf *bytes, size_t *written)
{
    handle_stream *stream = (handle_stream *)base;
    assert(stream->writing.size == 0 && bytes->size > 0);
    *written = 0;
    const unsigned now = bytes->size < UINT32_MAX ? (unsigned)bytes->size : UINT32_MAX;
    uv_buf_t buffer = uv_buf_init(bytes->data, now);
    const int result = uv_try_write(&stream->uv.stream, &buffer, 1);
    /* Errors other than EAGAIN are reported again by uv_write's callback, from the loop. */
    if (result > 0) {
        *written = (size_t)result;
    }
    if (*written == bytes->size) {
        arcp__loop_share_give_buffer(stream->share, bytes);
        return true;
    }
    stream->writing = *bytes;
    stream->writing_done = *written;
    *bytes = arcp_buf_init();
    if (write_piece(stream) != 0) {
        arcp__loop_share_give_buffer(stream->share, &stream->writing);
        return false;
    }
    return true;
}

static void on_shutdown(uv_shutdown_t *request, int result)
{
    /* If the peer has disconnected, reading reports it. */
}

static void stream_finish(arcp__stream *base)
{
    handle_stream *stream = (handle_stream *)base;
    assert(stream->writing.size == 0);
    uv_shutdown(&stream->request.shutdown, &stream->uv.stream, on_shutdown);
}

static void on_closed(uv_handle_t *handle)
{
    handle_stream *stream = handle->data;
    arcp_buf_fini(&stream->writing);
    arcp__loop_share_unref(stream->share);
    arcp__free(stream);
}

static void stream_close(arcp__stream *base)
{
    handle_stream *stream = (handle_stream *)base;
    assert(!stream->closed);
    stream->closed = true;
    uv_os_fd_t fd = -1;
    if (stream->status_flags >= 0 && uv_fileno(&stream->uv.handle, &fd) == 0) {
        fcntl(fd, F_SETFL, stream->status_flags);
    }
    uv_close(&stream->uv.handle, on_closed);
}

static const arcp__stream_ops handle_stream_ops = {
    .start = stream_start,
    .stop = stream_stop,
    .write = stream_write,
    .finish = stream_finish,
    .close = stream_close,
};

static handle_stream *handle_stream_new(arcp__loop_share *share)
{
    handle_stream *stream = arcp__alloc(sizeof *stream);
    if (stream != NULL) {
        stream->base.ops = &handle_stream_ops;
        stream->share = arcp__loop_share_ref(share);
        stream->status_flags = -1;
    }
    return stream;
}

static handle_stream *tcp_stream_new(arcp__loop_share *share)
{
    handle_stream *stream = handle_stream_new(share);
    if (stream != NULL) {
        (void)uv_tcp_init(arcp__loop_share_loop(share), &stream->uv.tcp); /* creates no socket */
        stream->uv.handle.data = stream;
    }
    return stream;
}

/* Frames are written in batches, so Nagle's algorithm would only add latency. Keep-alive detects
 * peers that vanished while the connection was idle. */
static void tcp_settings(handle_stream *stream)
{
    uv_tcp_nodelay(&stream->uv.tcp, 1);
    uv_tcp_keepalive(&stream->uv.tcp, 1, 60);
}

int arcp__tcp_stream_accept(arcp__loop_share *share, uv_stream_t *listener,
                            struct sockaddr_storage *peer, arcp__stream **out)
{
    int size = sizeof *peer;
    handle_stream *stream = tcp_stream_new(share);
    if (stream == NULL) {
        return UV_ENOMEM;
    }
    int result = uv_accept(listener, &stream->uv.stream);
    if (result == 0) {
        result = uv_tcp_getpeername(&stream->uv.tcp, (struct sockaddr *)peer, &size);
    }
    if (result != 0) {
        stream_close(&stream->base);
        return result;
    }
    tcp_settings(stream);
    *out = &stream->base;
    return 0;
}

int arcp__tcp_stream_local(const arcp__stream *stream, struct sockaddr_storage *out)
{
    int size = sizeof *out;
    assert(stream->ops == &handle_stream_ops);
    return uv_tcp_getsockname(&((const handle_stream *)stream)->uv.tcp, (struct sockaddr *)out,
                              &size);
}

static void on_connected(uv_connect_t *request, int result)
{
    handle_stream *stream = request->handle->data;
    if (stream->closed) {
        return;
    }
    if (result == 0) {
        tcp_settings(stream);
    }
    stream->connected(stream->connected_user, result);
}

int arcp__tcp_stream_connect(arcp__loop_share *share, const struct sockaddr *address,
                             void (*done)(void *user, int result), void *user, arcp__stream **out)
{
    handle_stream *stream = tcp_stream_new(share);
    if (stream == NULL) {
        return UV_ENOMEM;
    }
    stream->connected = done;
    stream->connected_user = user;
    const int result =
        uv_tcp_connect(&stream->request.connect, &stream->uv.tcp, address, on_connected);
    if (result != 0) {
        stream_close(&stream->base);
        return result;
    }
    *out = &stream->base;
    return 0;
}

/* ---- files ---- */

/* A regular file, or a device other than a terminal. It cannot be polled, but reading it does not
 * block for long: each turn of the loop reads a piece while the owner wants input, and a batch is
 * written as a whole. */
typedef struct file_stream {
    arcp__stream base;
    arcp__loop_share *share;
    arcp__task task; /* reads the next piece, or frees a closed stream */
    int fd;
    int failed;      /* errno of a failed write, to be reported from the loop */
    bool is_reading; /* between start and stop */
    bool ended;      /* `ended` was called */
    bool closed;
} file_stream;

static void run_file(arcp__task *task)
{
    file_stream *stream = (file_stream *)((char *)task - offsetof(file_stream, task));
    if (stream->closed) {
        if (stream->fd > STDERR_FILENO) {
            close(stream->fd);
        }
        arcp__loop_share_unref(stream->share);
        arcp__free(stream);
        return;
    }
    if (stream->failed != 0) {
        stream->ended = true;
        report_end(&stream->base, uv_translate_sys_error(stream->failed));
        return;
    }
    if (!stream->is_reading || stream->ended) {
        return;
    }
    char *buffer = arcp__loop_share_read_buffer(stream->share);
    errno = ENOMEM;
    const ssize_t size = buffer == NULL ? -1 : read(stream->fd, buffer, ARCP__READ_BUFFER_BYTES);
    if (size <= 0) {
        stream->ended = true;
        report_end(&stream->base, size == 0 ? UV_EOF : uv_translate_sys_error(errno));
        return;
    }
    arcp__task_post(stream->share, &stream->task); /* before the event, which may close it */
    stream->base.events.bytes(stream->base.events.user, arcp_span_make(buffer, (size_t)size));
}

static void file_start(arcp__stream *base)
{
    file_stream *stream = (file_stream *)base;
    stream->is_reading = true;
    arcp__task_post(stream->share, &stream->task);
}

static void file_stop(arcp__stream *base)
{
    ((file_stream *)base)->is_reading = false;
}

static bool file_write(arcp__stream *base, arcp_buf *bytes, size_t *written)
{
    file_stream *stream = (file_stream *)base;
    assert(bytes->size > 0 && stream->failed == 0);
    *written = 0;
    while (*written < bytes->size && stream->failed == 0) {
        const ssize_t size = write(stream->fd, bytes->data + *written, bytes->size - *written);
        if (size >= 0) {
            *written += (size_t)size;
        } else if (errno != EINTR) {
            stream->failed = errno;
            arcp__task_post(stream->share, &stream->task);
        }
    }
    arcp__loop_share_give_buffer(stream->share, bytes);
    return true;
}

static void file_finish(arcp__stream *base)
{
    /* A file has no peer to be notified. */
}

static void file_close(arcp__stream *base)
{
    file_stream *stream = (file_stream *)base;
    assert(!stream->closed);
    stream->closed = true;
    arcp__task_post(stream->share, &stream->task);
}

static const arcp__stream_ops file_stream_ops = {
    .start = file_start,
    .stop = file_stop,
    .write = file_write,
    .finish = file_finish,
    .close = file_close,
};

/* ---- descriptors ---- */

arcp_status arcp__fd_stream_new(arcp__loop_share *share, int fd, arcp__stream **out,
                                arcp_error *err)
{
    uv_loop_t *loop = arcp__loop_share_loop(share);
    const uv_handle_type type = uv_guess_handle(fd);
    const int flags = fcntl(fd, F_GETFL);
    if (type == UV_FILE) {
        file_stream *file = arcp__alloc(sizeof *file);
        if (file == NULL) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
        }
        file->base.ops = &file_stream_ops;
        file->share = arcp__loop_share_ref(share);
        file->task.run = run_file;
        file->fd = fd;
        *out = &file->base;
        return ARCP_OK;
    }
    if (type != UV_NAMED_PIPE && type != UV_TCP && type != UV_TTY) {
        return arcp_error_set(err, ARCP_E_IO,
                              "file descriptor %d is not a pipe, socket, terminal or file", fd);
    }
    handle_stream *stream = handle_stream_new(share);
    if (stream == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    int result = 0;
    if (type == UV_TTY) {
        result = uv_tty_init(loop, &stream->uv.tty, fd, 0);
    } else if (type == UV_TCP) {
        (void)uv_tcp_init(loop, &stream->uv.tcp); /* creates no socket */
        result = uv_tcp_open(&stream->uv.tcp, fd);
    } else {
        (void)uv_pipe_init(loop, &stream->uv.pipe, 0);
        result = uv_pipe_open(&stream->uv.pipe, fd);
    }
    stream->uv.handle.data = stream;
    if (result < 0) {
        arcp_error_set(err, ARCP_E_IO, "cannot use file descriptor %d: %s", fd,
                       uv_strerror(result));
        if (stream->uv.handle.type != UV_UNKNOWN_HANDLE) {
            stream_close(&stream->base);
        } else {
            arcp__loop_share_unref(share);
            arcp__free(stream);
        }
        return ARCP_E_IO;
    }
    uv_os_fd_t own = fd;
    if (uv_fileno(&stream->uv.handle, &own) == 0 && own != fd && fd > STDERR_FILENO) {
        close(fd); /* libuv has reopened the terminal */
    }
    stream->status_flags = type == UV_TTY ? -1 : flags;
    *out = &stream->base;
    return ARCP_OK;
}
