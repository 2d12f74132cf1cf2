/* A regular file, or a device that is none of a terminal's kind. Nobody can wait for one to become
 * readable, and it is there at once: each turn of the loop reads a piece, as far as somebody wants
 * it, and a batch is written as a whole. */
#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "stream/parts.h"

typedef struct file_stream {
    arcp__stream base;
    arcp__loop_share *share;
    arcp__task task; /* the next piece, or the end of a stream that was closed */
    int fd;
    int failed; /* errno of a write, which is told from the loop */
    bool wanted;
    bool ended; /* was told */
    bool closed;
} file_stream;

static void file_stream_free(file_stream *stream)
{
    if (stream->fd > STDERR_FILENO) {
        close(stream->fd);
    }
    arcp__loop_share_unref(stream->share);
    arcp__free(stream);
}

static void tell_ended(file_stream *stream, int code)
{
    arcp_error err = {0};
    stream->ended = true;
    if (code != 0) {
        arcp_error_set(&err, ARCP_E_IO, "%s", uv_strerror(uv_translate_sys_error(code)));
    }
    stream->base.events.ended(stream->base.events.user, code == 0 ? NULL : &err);
}

static void run_task(arcp__task *task)
{
    file_stream *stream = (file_stream *)((char *)task - offsetof(file_stream, task));
    if (stream->closed) {
        file_stream_free(stream);
        return;
    }
    if (stream->failed != 0) {
        tell_ended(stream, stream->failed);
        return;
    }
    if (!stream->wanted || stream->ended) {
        return;
    }
    char *buffer = arcp__loop_share_read_buffer(stream->share);
    errno = ENOMEM;
    const ssize_t size = buffer == NULL ? -1 : read(stream->fd, buffer, ARCP__READ_BUFFER_BYTES);
    if (size <= 0) {
        tell_ended(stream, size == 0 ? 0 : errno);
        return;
    }
    arcp__task_post(stream->share, &stream->task); /* before the event, which may close it */
    stream->base.events.bytes(stream->base.events.user, arcp_span_make(buffer, (size_t)size));
}

static void file_start(arcp__stream *base)
{
    file_stream *stream = (file_stream *)base;
    stream->wanted = true;
    arcp__task_post(stream->share, &stream->task);
}

static void file_stop(arcp__stream *base)
{
    ((file_stream *)base)->wanted = false;
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
    /* A file has nobody at its other end. */
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

arcp_status arcp__file_stream_new(arcp__loop_share *share, int fd, arcp__stream **out,
                                  arcp_error *err)
{
    file_stream *stream = arcp__alloc(sizeof(*stream));
    if (stream == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    stream->base.ops = &file_stream_ops;
    stream->share = arcp__loop_share_ref(share);
    stream->task.run = run_task;
    stream->fd = fd;
    *out = &stream->base;
    return ARCP_OK;
}
