/* How lines end: an owner that has more to say after the peer's end is told of that end, and closes
 * when it likes; for others that end is the close. Our side writes what it has and closes its
 * output, which the peer reads as our close. Over two descriptors that is all. Over one socket we
 * wait for the peer's end, because closing with unread input would reset what we wrote; with a
 * program behind the pipes we wait for its exit. The timer bounds both. */
#include "transport/line_connection.h"

#include <stdio.h>

#include "base/alloc.h"
#include "transport/line_reader.h"

struct arcp__line_connection {
    arcp__stream_connection base;
    arcp__line_reader reader;
    arcp__child_process *child;
    int64_t exit_status; /* once exited */
    int exit_signal;
    bool exited;
    bool closed_by_us; /* before the peer's end */
    bool finished;     /* our output is closed */
    bool unwritable;   /* our output is broken, and the program's exit will say why */
};

static arcp_status line_encode(arcp__stream_connection *base, arcp_span frame, arcp_buf *out)
{
    if (frame.size == 0 || memchr(frame.data, '\n', frame.size) != NULL) {
        return ARCP_E_INVALID_REQUEST;
    }
    arcp_buf_append(out, frame);
    arcp_buf_append_byte(out, '\n');
    return ARCP_OK;
}

static void fault(arcp__stream_connection *base, arcp__line_event event)
{
    bool too_long = event == ARCP__LINE_TOO_LONG;
    const char *why = too_long ? "the line is too long" : "out of memory";
    base->peer_at_fault = true;
    arcp__stream_connection_begin_close(base, too_long ? ARCP_CLOSE_TOO_BIG : ARCP_CLOSE_INTERNAL,
                                        why, strlen(why));
}

static void line_input(arcp__stream_connection *base, arcp_span *input)
{
    arcp__line_connection *connection = (arcp__line_connection *)base;
    while (!arcp__stream_connection_is_stopped(base)) {
        arcp_span line = {NULL, 0};
        arcp__line_event event = arcp__line_reader_next(&connection->reader, input, &line);
        if (event == ARCP__LINE_NONE) {
            return;
        }
        if (event == ARCP__LINE) {
            arcp__stream_connection_deliver(base, line);
        } else {
            fault(base, event);
        }
    }
}

static void line_input_ended(arcp__stream_connection *base)
{
    arcp__line_connection *connection = (arcp__line_connection *)base;
    arcp_span line = {NULL, 0};
    arcp__line_event event = arcp__line_reader_last(&connection->reader, &line);
    if (event == ARCP__LINE) {
        arcp__stream_connection_deliver(base, line);
    } else if (event != ARCP__LINE_NONE) {
        fault(base, event);
    }
    if (base->state == ARCP__CONNECTION_OPEN) {
        /* A program whose output has ended does not listen any more either. */
        if (connection->child != NULL || !arcp__stream_connection_tell_input_over(base)) {
            arcp__stream_connection_begin_close(base, ARCP_CLOSE_NORMAL, "", 0);
        }
    } else if (base->state == ARCP__CONNECTION_CLOSING) {
        base->framing->advance(base);
    }
}

static void close_output(arcp__stream_connection *base)
{
    if (base->out == base->in) {
        base->out->ops->finish(base->out);
    } else {
        arcp__stream_close(&base->out);
    }
}

static void line_advance(arcp__stream_connection *base)
{
    arcp__line_connection *connection = (arcp__line_connection *)base;
    if (!connection->finished && !base->input_ended && !connection->exited) {
        connection->closed_by_us = true;
    }
    if (!connection->unwritable && !arcp__outbox_is_empty(&base->outbox)) {
        return; /* called again when all has left */
    }
    if (!connection->finished) {
        connection->finished = true;
        close_output(base);
    }
    bool done = connection->child != NULL ? connection->exited
                : base->out == base->in   ? base->input_ended
                                          : true;
    if (done) {
        arcp__stream_connection_end(base);
    }
}

static void line_batch_left(arcp__stream_connection *base)
{
}

/* ---- the program ---- */

/* "Broken pipe" is not what people want to know about a program that did not start well. */
static void line_broken(arcp__stream_connection *base, const char *why)
{
    arcp__line_connection *connection = (arcp__line_connection *)base;
    connection->unwritable = true;
    if (connection->child == NULL || base->state != ARCP__CONNECTION_OPEN) {
        arcp__stream_connection_break(base, ARCP_CLOSE_ABNORMAL, why);
        return;
    }
    base->peer_at_fault = true;
    arcp__stream_connection_begin_close(base, ARCP_CLOSE_ABNORMAL, why, strlen(why));
    connection->closed_by_us = false;
}

/* Something that the program left behind holds its output open: do not wait for it. */
static void on_output_held(uv_timer_t *timer)
{
    arcp__stream_connection *base = timer->data;
    if (base->state == ARCP__CONNECTION_OPEN) {
        base->input_ended = true;
        line_input_ended(base);
    }
}

static void on_exited(void *user, int64_t status, int signal)
{
    arcp__line_connection *connection = user;
    arcp__stream_connection *base = &connection->base;
    connection->exited = true;
    connection->exit_status = status;
    connection->exit_signal = signal;
    if (base->state == ARCP__CONNECTION_CLOSING) {
        line_advance(base);
    } else if (base->state == ARCP__CONNECTION_OPEN) {
        /* What it has written is still to be read; its end follows. */
        uv_timer_start(&base->timer, on_output_held, base->close_timeout_ms, 0);
    }
}

void arcp__line_connection_own(arcp__line_connection *connection, arcp__child_process *child)
{
    connection->child = child;
    arcp__child_process_watch(child, on_exited, connection);
}

/* A program that ended badly, and not because we hung up, is why the connection ended. */
static void name_bad_exit(arcp__line_connection *connection)
{
    arcp__stream_connection *base = &connection->base;
    bool bad = connection->exited && (connection->exit_status != 0 || connection->exit_signal != 0);
    if (!bad || connection->closed_by_us) {
        return;
    }
    base->code = ARCP_CLOSE_ABNORMAL;
    if (connection->exit_signal != 0) {
        snprintf(base->reason, sizeof(base->reason), "the program was ended by signal %d",
                 connection->exit_signal);
    } else {
        snprintf(base->reason, sizeof(base->reason), "the program exited with status %lld",
                 (long long)connection->exit_status);
    }
}

/* ---- the rest ---- */

static void line_ended(arcp__stream_connection *base)
{
    arcp__line_connection *connection = (arcp__line_connection *)base;
    name_bad_exit(connection);
    arcp__child_process_release(connection->child);
    connection->child = NULL;
}

static void line_free(arcp__stream_connection *base)
{
    arcp__line_reader_fini(&((arcp__line_connection *)base)->reader);
}

static const arcp__framing line_framing = {
    .encode = line_encode,
    .input = line_input,
    .input_ended = line_input_ended,
    .batch_left = line_batch_left,
    .advance = line_advance,
    .broken = line_broken,
    .ended = line_ended,
    .free = line_free,
};

arcp_connection *arcp__line_connection_base(arcp__line_connection *connection)
{
    return &connection->base.base;
}

arcp_status arcp__line_connection_new(const arcp__line_connection_options *options,
                                      arcp__line_connection **out, arcp_error *err)
{
    arcp__line_connection *connection = arcp__alloc(sizeof(*connection));
    if (connection == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    arcp__stream_connection_parts parts = {
        .framing = &line_framing,
        .share = options->share,
        .in = options->in,
        .out = options->out,
        .close_timeout_ms = options->close_timeout_ms,
        .transport = "stdio",
        .peer = options->peer,
        .local = true,
    };
    arcp__stream_connection_init(&connection->base, &parts);
    connection->reader.line_bytes_max =
        options->frame_bytes_max == 0 ? ARCP_FRAME_BYTES_DEFAULT : options->frame_bytes_max;
    *out = connection;
    return ARCP_OK;
}
