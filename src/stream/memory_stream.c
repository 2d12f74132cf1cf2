/* Two connected streams in one process: bytes written to one are read from the other in the next
 * turn of the loop. Bytes that the reader does not accept yet stay in the writing stream. */
#include <assert.h>

#include "base/alloc.h"
#include "stream/stream.h"

typedef struct memory_stream {
    arcp__stream base;
    arcp__loop_share *share;
    struct memory_stream *peer; /* NULL: it is closed */
    arcp__task task;            /* delivers the peer's bytes, or frees a closed stream */
    arcp_buf writing;
    bool is_reading; /* between start and stop */
    bool finished;   /* nothing more is written */
    bool ended;      /* `ended` was called */
    bool closed;
} memory_stream;

/* Posts the task only if there is something to deliver: a task posted too early would deliver a
 * later write in the same turn. */
static void wake(memory_stream *stream)
{
    const memory_stream *peer = stream->peer;
    if (peer == NULL || peer->writing.size > 0 || peer->finished) {
        arcp__task_post(stream->share, &stream->task);
    }
}

/* Delivers what the peer has written, and what its owner wrote when notified of that: both belong
 * to the previous turn. The peer is notified first, so that it knows of this before it reads a
 * response. An event may close either stream; its memory stays valid until its task has run. */
static void take(memory_stream *stream, memory_stream *peer)
{
    for (unsigned batches = 0; batches < 2 && stream->is_reading && !stream->closed &&
                               !peer->closed && peer->writing.size > 0;
         batches++) {
        arcp_buf batch = peer->writing;
        peer->writing = arcp_buf_init();
        peer->base.events.written(peer->base.events.user, batch.size);
        if (!stream->closed) {
            stream->base.events.bytes(stream->base.events.user, arcp_buf_span(&batch));
        }
        arcp__loop_share_give_buffer(stream->share, &batch);
    }
    if (stream->is_reading && !stream->closed) {
        wake(stream); /* for the rest, or the end */
    }
}

static void run_task(arcp__task *task)
{
    memory_stream *stream = (memory_stream *)((char *)task - offsetof(memory_stream, task));
    memory_stream *peer = stream->peer;
    if (stream->closed) {
        arcp_buf_fini(&stream->writing);
        arcp__loop_share_unref(stream->share);
        arcp__free(stream);
    } else if (stream->is_reading && peer != NULL && peer->writing.size > 0) {
        take(stream, peer);
    } else if (stream->is_reading && !stream->ended && (peer == NULL || peer->finished)) {
        stream->ended = true;
        stream->base.events.ended(stream->base.events.user, NULL);
    }
}

static void memory_start(arcp__stream *base)
{
    memory_stream *stream = (memory_stream *)base;
    stream->is_reading = true;
    wake(stream);
}

static void memory_stop(arcp__stream *base)
{
    ((memory_stream *)base)->is_reading = false;
}

static void wake_peer(memory_stream *stream)
{
    if (stream->peer != NULL) {
        arcp__task_post(stream->share, &stream->peer->task);
    }
}

static bool memory_write(arcp__stream *base, arcp_buf *bytes, size_t *written)
{
    memory_stream *stream = (memory_stream *)base;
    assert(stream->writing.size == 0 && bytes->size > 0);
    *written = 0;
    if (stream->peer == NULL) {
        arcp__loop_share_give_buffer(stream->share, bytes);
        return false;
    }
    stream->writing = *bytes;
    *bytes = arcp_buf_init();
    wake_peer(stream);
    return true;
}

static void memory_finish(arcp__stream *base)
{
    memory_stream *stream = (memory_stream *)base;
    stream->finished = true;
    wake_peer(stream);
}

static void memory_close(arcp__stream *base)
{
    memory_stream *stream = (memory_stream *)base;
    assert(!stream->closed);
    stream->closed = true;
    wake_peer(stream);
    if (stream->peer != NULL) {
        stream->peer->peer = NULL;
    }
    arcp__task_post(stream->share, &stream->task);
}

static const arcp__stream_ops memory_stream_ops = {
    .start = memory_start,
    .stop = memory_stop,
    .write = memory_write,
    .finish = memory_finish,
    .close = memory_close,
};

arcp_status arcp__memory_streams_new(arcp__loop_share *share, arcp__stream *out[2], arcp_error *err)
{
    memory_stream *ends[2] = {arcp__alloc(sizeof **ends), arcp__alloc(sizeof **ends)};
    if (ends[0] == NULL || ends[1] == NULL) {
        arcp__free(ends[0]);
        arcp__free(ends[1]);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    for (size_t i = 0; i < 2; i++) {
        ends[i]->base.ops = &memory_stream_ops;
        ends[i]->share = arcp__loop_share_ref(share);
        ends[i]->peer = ends[1 - i];
        ends[i]->task.run = run_task;
        out[i] = &ends[i]->base;
    }
    return ARCP_OK;
}

arcp__stream *arcp__memory_stream_peer(const arcp__stream *stream)
{
    memory_stream *peer = ((const memory_stream *)stream)->peer;
    return peer == NULL ? NULL : &peer->base;
}
