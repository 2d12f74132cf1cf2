#include "worker/worker_link.h"

#include <stdio.h>

#include "base/alloc.h"
#include "stream/stream.h"

struct arcp__worker_link {
    arcp__loop_share *share; /* its own */
    arcp__stream *stream;    /* owned */
    arcp__worker_side theirs;
    arcp__worker_link_events events;
    arcp__worker_reader reader;
    arcp_buf input;   /* an incomplete message */
    arcp_buf output;  /* not given to the stream yet */
    size_t unwritten; /* of what the stream has */
    arcp__task flush;
    bool is_broken; /* it cannot be written; reported by `flush` */
    bool has_ended; /* reported */
};

static void end(arcp__worker_link *link, const char *why)
{
    if (!link->has_ended) {
        link->has_ended = true;
        link->stream->ops->stop(link->stream);
        arcp__task_cancel(link->share, &link->flush);
        link->events.ended(link->events.user, why);
    }
}

/* ---- what comes ---- */

/* Takes the messages that are complete in `bytes`. *taken is their size. */
static arcp_status take_messages(arcp__worker_link *link, arcp_span bytes, size_t *taken,
                                 arcp_error *err)
{
    arcp_status status = ARCP_OK;
    *taken = 0;
    while (status == ARCP_OK && bytes.size - *taken >= ARCP__WORKER_PREFIX) {
        const arcp_span rest = arcp_span_from(bytes, *taken);
        arcp__worker_message message;
        size_t size = 0;
        status = arcp__worker_frame_size(rest, link->reader.line_bytes_max, &size, err);
        if (status != ARCP_OK || rest.size - ARCP__WORKER_PREFIX < size) {
            break;
        }
        *taken += ARCP__WORKER_PREFIX + size;
        status = arcp__worker_message_read(
            &link->reader, link->theirs,
            arcp_span_first(arcp_span_from(rest, ARCP__WORKER_PREFIX), size), &message, err);
        if (status == ARCP_OK) {
            status = link->events.message(link->events.user, &message, err);
        }
    }
    return status;
}

static void on_bytes(void *user, arcp_span bytes)
{
    arcp__worker_link *link = user;
    arcp_error error = {0};
    size_t taken = 0;
    const bool is_rest = link->input.size != 0;
    if (is_rest) {
        arcp_buf_append(&link->input, bytes);
        bytes = arcp_buf_span(&link->input);
    }
    const arcp_status status =
        link->input.failed ? ARCP_E_NO_MEMORY : take_messages(link, bytes, &taken, &error);
    if (is_rest) {
        arcp_buf_consume(&link->input, taken);
    } else {
        arcp_buf_append(&link->input, arcp_span_from(bytes, taken));
    }
    if (status == ARCP_OK && !link->input.failed) {
        return;
    }
    end(link, status == ARCP_OK || status == ARCP_E_NO_MEMORY ? "out of memory" : error.message);
}

static void on_ended(void *user, const arcp_error *why)
{
    end(user, why == NULL ? NULL : why->message);
}

/* ---- what goes ---- */

static void flush(arcp__worker_link *link)
{
    if (link->is_broken || link->output.failed) {
        end(link, link->output.failed ? "out of memory" : "it cannot be written");
        return;
    }
    if (link->unwritten != 0 || link->output.size == 0) {
        return;
    }
    size_t written = 0;
    const size_t size = link->output.size;
    const bool secret = link->output.secret;
    link->is_broken = !link->stream->ops->write(link->stream, &link->output, &written);
    link->output.secret = secret;
    link->unwritten = size - written;
    if (link->is_broken) {
        end(link, "it cannot be written");
    } else if (link->unwritten == 0) {
        link->events.has_room(link->events.user);
    }
}

static void on_flush(arcp__task *task)
{
    flush((arcp__worker_link *)((char *)task - offsetof(arcp__worker_link, flush)));
}

static void on_written(void *user, size_t size)
{
    arcp__worker_link *link = user;
    link->unwritten -= size;
    if (link->unwritten == 0) {
        link->events.has_room(link->events.user);
        arcp__task_post(link->share, &link->flush);
    }
}

void arcp__worker_link_send(arcp__worker_link *link, const arcp__worker_message *message)
{
    arcp__worker_frame_write(message, &link->output);
    if (!link->has_ended) {
        arcp__task_post(link->share, &link->flush);
    }
}

bool arcp__worker_link_has_room(const arcp__worker_link *link)
{
    return link->output.size + link->unwritten < ARCP__WORKER_LINK_QUEUED_MAX;
}

/* ---- the link ---- */

void arcp__worker_link_set_line_bytes(arcp__worker_link *link, size_t line_bytes)
{
    link->reader.line_bytes_max = line_bytes;
}

arcp_status arcp__worker_link_new(uv_loop_t *loop, int fd, arcp__worker_side ours,
                                  const arcp__worker_link_events *events, arcp__worker_link **out,
                                  arcp_error *err)
{
    const bool is_worker = ours == ARCP__WORKER_SIDE_WORKER;
    arcp__worker_link *link = arcp__alloc(sizeof *link);
    if (link == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    link->share = arcp__loop_share_new(loop);
    const arcp_status status = link->share == NULL
                                   ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                   : arcp__fd_stream_new(link->share, fd, &link->stream, err);
    if (status != ARCP_OK) {
        arcp__loop_share_unref(link->share);
        arcp__free(link);
        return status;
    }
    link->theirs = is_worker ? ARCP__WORKER_SIDE_RUNTIME : ARCP__WORKER_SIDE_WORKER;
    link->events = *events;
    link->reader.line_bytes_max = ARCP__WORKER_BODY_MAX;
    link->flush.run = on_flush;
    /* The runtime sends credentials. */
    link->input.secret = is_worker;
    link->output.secret = !is_worker;
    link->stream->events = (arcp__stream_events){
        .bytes = on_bytes, .ended = on_ended, .written = on_written, .user = link};
    link->stream->ops->start(link->stream);
    *out = link;
    return ARCP_OK;
}

void arcp__worker_link_close(arcp__worker_link *link)
{
    if (link != NULL) {
        arcp__task_cancel(link->share, &link->flush);
        arcp__stream_close(&link->stream);
        arcp__loop_share_unref(link->share);
        arcp__worker_reader_fini(&link->reader);
        arcp_buf_fini(&link->input);
        arcp_buf_fini(&link->output);
        arcp__free(link);
    }
}
