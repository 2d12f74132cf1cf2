#include "worker/worker_link_parts.h"

#include <stdio.h>

#include "base/alloc.h"

/* ---- what both ways share ---- */

arcp__worker_link *arcp__worker_link_make(const arcp__worker_way *way, arcp__worker_side ours,
                                          const arcp__worker_link_events *events)
{
    const bool is_worker = ours == ARCP__WORKER_SIDE_WORKER;
    arcp__worker_link *link = arcp__alloc(sizeof *link);
    if (link != NULL) {
        link->way = way;
        link->theirs = is_worker ? ARCP__WORKER_SIDE_RUNTIME : ARCP__WORKER_SIDE_WORKER;
        link->events = *events;
        link->reader.line_bytes_max = ARCP__WORKER_BODY_MAX;
        /* The runtime sends credentials, and the worker its token. */
        link->input.secret = link->output.secret = true;
    }
    return link;
}

void arcp__worker_link_refuse(arcp__worker_link *link, arcp_status status, const char *why)
{
    if (!link->has_ended) {
        link->has_ended = true;
        link->way->stop(link, status, why);
    }
}

void arcp__worker_link_end(arcp__worker_link *link, arcp_status status, const char *why)
{
    if (!link->has_ended) {
        arcp__worker_link_refuse(link, status, why);
        link->events.ended(link->events.user, why);
    }
}

arcp_status arcp__worker_link_take(arcp__worker_link *link, arcp_span bytes, arcp_error *err)
{
    arcp__worker_message message;
    const arcp_status status =
        arcp__worker_message_read(&link->reader, link->theirs, bytes, &message, err);
    return status == ARCP_OK ? link->events.message(link->events.user, &message, err) : status;
}

void arcp__worker_link_send(arcp__worker_link *link, const arcp__worker_message *message)
{
    if (!link->has_ended) {
        link->way->send(link, message);
    }
}

bool arcp__worker_link_has_room(const arcp__worker_link *link)
{
    return link->way->queued(link) < ARCP__WORKER_LINK_QUEUED_MAX;
}

void arcp__worker_link_set_line_bytes(arcp__worker_link *link, size_t line_bytes)
{
    link->reader.line_bytes_max = line_bytes;
}

bool arcp__worker_link_is_refused(const arcp__worker_link *link)
{
    return link->is_refused;
}

void arcp__worker_link_close(arcp__worker_link *link)
{
    if (link != NULL) {
        link->way->close(link);
        arcp__worker_reader_fini(&link->reader);
        arcp_buf_fini(&link->output);
        arcp__free(link);
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
        size_t size = 0;
        status = arcp__worker_frame_size(rest, link->reader.line_bytes_max, &size, err);
        if (status != ARCP_OK || rest.size - ARCP__WORKER_PREFIX < size) {
            break;
        }
        *taken += ARCP__WORKER_PREFIX + size;
        status = arcp__worker_link_take(
            link, arcp_span_first(arcp_span_from(rest, ARCP__WORKER_PREFIX), size), err);
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
    arcp__worker_link_end(link, status == ARCP_OK ? ARCP_E_NO_MEMORY : status,
                          status == ARCP_OK || status == ARCP_E_NO_MEMORY ? "out of memory"
                                                                          : error.message);
}

static void on_ended(void *user, const arcp_error *why)
{
    arcp__worker_link_end(user, ARCP_OK, why == NULL ? NULL : why->message);
}

/* ---- what goes ---- */

static void flush(arcp__worker_link *link)
{
    if (link->is_broken || link->output.failed) {
        arcp__worker_link_end(link, ARCP_E_IO,
                              link->output.failed ? "out of memory" : "it cannot be written");
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
        arcp__worker_link_end(link, ARCP_E_IO, "it cannot be written");
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

static void send_frame(arcp__worker_link *link, const arcp__worker_message *message)
{
    arcp__worker_frame_write(message, &link->output);
    arcp__task_post(link->share, &link->flush);
}

static size_t queued(const arcp__worker_link *link)
{
    return link->output.size + link->unwritten;
}

static void stop(arcp__worker_link *link, arcp_status status, const char *why)
{
    link->stream->ops->stop(link->stream);
    arcp__task_cancel(link->share, &link->flush);
}

static void close_stream(arcp__worker_link *link)
{
    arcp__task_cancel(link->share, &link->flush);
    arcp__stream_close(&link->stream);
    arcp__loop_share_unref(link->share);
    arcp_buf_fini(&link->input);
}

static const arcp__worker_way way = {
    .send = send_frame, .queued = queued, .stop = stop, .close = close_stream};

arcp_status arcp__worker_link_new(uv_loop_t *loop, int fd, arcp__worker_side ours,
                                  const arcp__worker_link_events *events, arcp__worker_link **out,
                                  arcp_error *err)
{
    arcp__worker_link *link = arcp__worker_link_make(&way, ours, events);
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
    link->flush.run = on_flush;
    link->stream->events = (arcp__stream_events){
        .bytes = on_bytes, .ended = on_ended, .written = on_written, .user = link};
    link->stream->ops->start(link->stream);
    *out = link;
    return ARCP_OK;
}
