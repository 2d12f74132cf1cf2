#include "egress/egress_side.h"

#include <assert.h>
#include <stdio.h>

static void count(uint64_t *counter, size_t size)
{
    if (counter != NULL) {
        *counter += size;
    }
}

static void on_bytes(void *user, arcp_span bytes)
{
    arcp__egress_side *side = user;
    if (side->in.size == 0) {
        arcp__loop_share_take_buffer(side->share, &side->in);
    }
    arcp_buf_append(&side->in, bytes);
    count(side->received_bytes, bytes.size);
    if (side->in.failed) {
        side->is_broken = true;
        side->has_ended = true;
    }
    side->changed(side->user);
}

static void on_ended(void *user, const arcp_error *why)
{
    arcp__egress_side *side = user;
    side->has_ended = true;
    side->is_broken = side->is_broken || why != NULL;
    if (why != NULL) {
        (void)snprintf(side->why, sizeof side->why, "%s", why->message);
    }
    side->changed(side->user);
}

static void on_written(void *user, size_t size)
{
    arcp__egress_side *side = user;
    side->busy -= size;
    count(side->sent_bytes, size);
    side->changed(side->user);
}

void arcp__egress_side_open(arcp__egress_side *side, arcp__stream *stream)
{
    side->stream = stream;
    stream->events = (arcp__stream_events){on_bytes, on_ended, on_written, side};
    side->is_reading = true;
    stream->ops->start(stream);
}

bool arcp__egress_side_secure(arcp__egress_side *side, const arcp__tls_context *context,
                              const char *host)
{
    arcp__stream *stream = NULL;
    assert(side->busy == 0 && !side->has_ended);
    if (arcp__tls_stream_new(side->share, context, host, side->stream, &stream, NULL) != ARCP_OK) {
        return false;
    }
    side->stream = stream;
    if (side->in.size > 0 && !arcp__tls_stream_feed(stream, arcp_buf_span(&side->in))) {
        return false;
    }
    arcp_buf_clear(&side->in);
    arcp__egress_side_open(side, stream);
    return true;
}

void arcp__egress_side_close(arcp__egress_side *side)
{
    arcp__stream_close(&side->stream);
    arcp_buf_fini(&side->in);
    arcp_buf_fini(&side->out);
    side->busy = 0;
    side->is_reading = side->has_ended = side->is_broken = false;
    side->finishes = side->is_finished = false;
    side->why[0] = '\0';
}

bool arcp__egress_side_flush(arcp__egress_side *side)
{
    size_t written = 0;
    if (side->stream == NULL) {
        return false;
    }
    if (side->out.failed || (side->is_broken && side->out.size > 0)) {
        arcp_buf_fini(&side->out);
        side->is_broken = side->has_ended = true;
        return true;
    }
    if (side->is_broken) {
        return false;
    }
    if (side->busy == 0 && side->out.size > 0) {
        const size_t size = side->out.size;
        if (!side->stream->ops->write(side->stream, &side->out, &written)) {
            arcp_buf_fini(&side->out);
            side->is_broken = side->has_ended = true;
            return true;
        }
        count(side->sent_bytes, written);
        side->busy = size - written;
        return true;
    }
    if (side->busy == 0 && side->finishes && !side->is_finished) {
        side->is_finished = true;
        side->stream->ops->finish(side->stream);
        return true;
    }
    return false;
}

void arcp__egress_side_read(arcp__egress_side *side)
{
    const bool wants = !side->has_ended && side->in.size < ARCP__EGRESS_SIDE_MAX;
    if (side->stream != NULL && wants != side->is_reading) {
        side->is_reading = wants;
        if (wants) {
            side->stream->ops->start(side->stream);
        } else {
            side->stream->ops->stop(side->stream);
        }
    }
}
