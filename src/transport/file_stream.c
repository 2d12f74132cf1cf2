#include "transport/file_stream.h"

#include <assert.h>
#include <unistd.h>

#include "base/alloc.h"

#define FILE_READ_BYTES ((size_t)64 * 1024)

/* A request that is under way in the thread pool uses our memory and descriptor; both go
 * when close was called and the last request has come back. */
typedef struct file_stream {
    arcp__stream base;
    arcp__loop_share *share;
    uv_fs_t read;
    uv_fs_t write;
    arcp__task task; /* frees a stream that was closed with no request under way */
    char *buffer;    /* of FILE_READ_BYTES; ours alone, because another thread fills it */
    arcp_buf writing;
    size_t writing_done;
    size_t held; /* bytes in buffer that were read when nobody wanted them */
    int fd;
    int failed; /* a libuv error that is to be told from the loop */
    bool wanted;
    bool read_busy;
    bool write_busy;
    bool ended;
    bool closed;
} file_stream;

static void file_stream_free(file_stream *stream)
{
    if (stream->fd > STDERR_FILENO) {
        close(stream->fd);
    }
    arcp__task_cancel(stream->share, &stream->task);
    arcp_buf_fini(&stream->writing);
    arcp__loop_share_unref(stream->share);
    arcp__free(stream->buffer);
    arcp__free(stream);
}

static void tell_ended(file_stream *stream, int code)
{
    stream->ended = true;
    if (code == 0) {
        stream->base.events.ended(stream->base.events.user, NULL);
        return;
    }
    arcp_error err = {0};
    arcp_error_set(&err, ARCP_E_IO, "%s", uv_strerror(code));
    stream->base.events.ended(stream->base.events.user, &err);
}

static void read_more(file_stream *stream);

static void on_read(uv_fs_t *request)
{
    file_stream *stream = request->data;
    ssize_t result = request->result;
    uv_fs_req_cleanup(request);
    stream->read_busy = false;
    if (stream->closed) {
        if (!stream->write_busy) {
            file_stream_free(stream);
        }
        return;
    }
    if (result > 0 && !stream->wanted) {
        stream->held = (size_t)result;
        return;
    }
    if (result > 0) {
        arcp_span bytes = arcp_span_make(stream->buffer, (size_t)result);
        stream->base.events.bytes(stream->base.events.user, bytes);
        read_more(stream);
        return;
    }
    tell_ended(stream, (int)result);
}

static void read_more(file_stream *stream)
{
    if (stream->closed || !stream->wanted || stream->read_busy || stream->ended) {
        return;
    }
    stream->read.data = stream;
    uv_buf_t buffer = uv_buf_init(stream->buffer, FILE_READ_BYTES);
    int result = uv_fs_read(arcp__loop_share_loop(stream->share), &stream->read, stream->fd,
                            &buffer, 1, -1, on_read);
    stream->read_busy = result == 0;
    if (result != 0) {
        stream->failed = result;
        arcp__task_post(stream->share, &stream->task);
    }
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
    if (stream->held > 0 && stream->wanted) {
        arcp_span bytes = arcp_span_make(stream->buffer, stream->held);
        stream->held = 0;
        stream->base.events.bytes(stream->base.events.user, bytes);
        read_more(stream);
    }
}

static void file_start(arcp__stream *base)
{
    file_stream *stream = (file_stream *)base;
    stream->wanted = true;
    if (stream->held > 0) {
        arcp__task_post(stream->share, &stream->task);
    } else {
        read_more(stream);
    }
}

static void file_stop(arcp__stream *base)
{
    ((file_stream *)base)->wanted = false;
}

static bool write_rest(file_stream *stream);

static void on_written(uv_fs_t *request)
{
    file_stream *stream = request->data;
    ssize_t result = request->result;
    uv_fs_req_cleanup(request);
    stream->write_busy = false;
    if (stream->closed) {
        if (!stream->read_busy) {
            file_stream_free(stream);
        }
        return;
    }
    if (result < 0) {
        tell_ended(stream, (int)result);
        return;
    }
    stream->writing_done += (size_t)result;
    if (stream->writing_done == stream->writing.size) {
        arcp__loop_share_give_buffer(stream->share, &stream->writing);
        stream->writing_done = 0;
    } else if (!write_rest(stream)) {
        tell_ended(stream, UV_EIO);
        return;
    }
    stream->base.events.written(stream->base.events.user, (size_t)result);
}

static bool write_rest(file_stream *stream)
{
    stream->write.data = stream;
    size_t left = stream->writing.size - stream->writing_done;
    uv_buf_t buffer = uv_buf_init(stream->writing.data + stream->writing_done,
                                  left < UINT32_MAX ? (unsigned)left : UINT32_MAX);
    int result = uv_fs_write(arcp__loop_share_loop(stream->share), &stream->write, stream->fd,
                             &buffer, 1, -1, on_written);
    stream->write_busy = result == 0;
    return result == 0;
}

static bool file_write(arcp__stream *base, arcp_buf *bytes, size_t *written)
{
    file_stream *stream = (file_stream *)base;
    assert(!stream->write_busy && bytes->size > 0);
    *written = 0;
    stream->writing = *bytes;
    *bytes = (arcp_buf)ARCP_BUF_INIT;
    return write_rest(stream);
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
    if (!stream->read_busy && !stream->write_busy) {
        arcp__task_post(stream->share, &stream->task);
    }
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
    char *buffer = arcp__alloc(FILE_READ_BYTES);
    if (stream == NULL || buffer == NULL) {
        arcp__free(stream);
        arcp__free(buffer);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    stream->base.ops = &file_stream_ops;
    stream->share = arcp__loop_share_ref(share);
    stream->task.run = run_task;
    stream->buffer = buffer;
    stream->fd = fd;
    *out = &stream->base;
    return ARCP_OK;
}
