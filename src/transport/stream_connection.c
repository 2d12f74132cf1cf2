#include "transport/stream_connection.h"

#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/utf8.h"

__extension__ typedef unsigned __int128 wide; /* for payload times bytes */

enum {
    DUE_INPUT = 1,   /* process `leftover`, then read on */
    DUE_FLUSH = 2,   /* write what was sent in this turn */
    DUE_DRAINED = 4, /* call `drained` */
    DUE_BROKEN = 8,  /* the stream could not be written */
    DUE_CLOSED = 16  /* call `closed` */
};

static arcp__stream_connection *stream_of(arcp_connection *connection)
{
    return (arcp__stream_connection *)connection;
}

static void make_due(arcp__stream_connection *connection, unsigned what)
{
    if (!connection->released) {
        connection->due |= what;
        arcp__task_post(connection->share, &connection->task);
    }
}

/* ---- the end ---- */

static void set_reason(arcp__stream_connection *connection, uint16_t code, arcp_span reason)
{
    const size_t size = arcp__utf8_cut(reason, ARCP__CLOSE_REASON_MAX);
    connection->code = code;
    if (size > 0) {
        memcpy(connection->reason, reason.data, size);
    }
    connection->reason[size] = '\0';
}

void arcp__stream_connection_end(arcp__stream_connection *connection)
{
    if (connection->state == ARCP__CONNECTION_ENDED) {
        return;
    }
    connection->state = ARCP__CONNECTION_ENDED;
    uv_timer_stop(&connection->timer);
    if (connection->out != connection->in) {
        arcp__stream_close(&connection->out);
    }
    arcp__stream_close(&connection->in);
    connection->out = NULL;
    arcp__admission_leave(&connection->counted);
    connection->framing->ended(connection);
    make_due(connection, DUE_CLOSED);
}

void arcp__stream_connection_break(arcp__stream_connection *connection, uint16_t code,
                                   const char *reason)
{
    if (connection->state == ARCP__CONNECTION_ENDED) {
        return;
    }
    if (!connection->peer_at_fault) {
        set_reason(connection, code, arcp_span_cstr(reason));
    }
    arcp__stream_connection_end(connection);
}

static void stream_broke(arcp__stream_connection *connection, const char *why)
{
    if (connection->framing->broken != NULL) {
        connection->framing->broken(connection, why);
    } else {
        arcp__stream_connection_break(connection, ARCP_CLOSE_ABNORMAL, why);
    }
}

static void on_timer(uv_timer_t *timer)
{
    arcp__stream_connection_break(timer->data, ARCP_CLOSE_ABNORMAL,
                                  "the peer did not close in time");
}

void arcp__stream_connection_begin_close(arcp__stream_connection *connection, uint16_t code,
                                         arcp_span reason)
{
    if (connection->state != ARCP__CONNECTION_OPEN) {
        return;
    }
    connection->state = ARCP__CONNECTION_CLOSING;
    set_reason(connection, code, reason);
    uv_timer_start(&connection->timer, on_timer, connection->close_timeout_ms, 0);
    connection->framing->advance(connection);
    if (connection->state == ARCP__CONNECTION_CLOSING) {
        /* Continue reading, even while paused, to find the peer's part of the close. */
        make_due(connection, DUE_INPUT | DUE_FLUSH);
    }
}

/* ---- writing ---- */

/* Accounts for bytes of the batch that were written, and for their share of its payload. */
static void note_written(arcp__stream_connection *connection, size_t bytes)
{
    assert(bytes <= connection->batch_bytes - connection->batch_done);
    const size_t before = connection->payload_done;
    connection->batch_done += bytes;
    const bool is_all = connection->batch_done == connection->batch_bytes;
    connection->payload_done = is_all ? connection->batch_payload
                                      : (size_t)((wide)connection->batch_payload *
                                                 connection->batch_done / connection->batch_bytes);
    if (connection->payload_done > before) {
        connection->written_due += connection->payload_done - before;
        make_due(connection, DUE_DRAINED);
    }
    if (is_all) {
        connection->batch_bytes = connection->batch_done = 0;
        connection->batch_payload = connection->payload_done = 0;
    }
}

void arcp__stream_connection_flush(arcp__stream_connection *connection)
{
    if (connection->state == ARCP__CONNECTION_ENDED) {
        return;
    }
    connection->due &= ~(unsigned)DUE_FLUSH;
    if (connection->batch_bytes == 0 && connection->next.size > 0) {
        size_t written = 0;
        connection->batch_bytes = connection->next.size;
        connection->batch_payload = connection->next_payload;
        connection->next_payload = 0;
        const bool is_writable =
            connection->out->ops->write(connection->out, &connection->next, &written);
        if (written > 0) {
            note_written(connection, written);
        }
        if (!is_writable) {
            make_due(connection, DUE_BROKEN);
            return;
        }
    }
    if (connection->state == ARCP__CONNECTION_CLOSING &&
        !arcp__stream_connection_is_writing(connection)) {
        connection->framing->advance(connection);
    }
}

void arcp__stream_connection_flush_later(arcp__stream_connection *connection)
{
    /* Called for every frame: usually the flush is already due. */
    if ((connection->due & DUE_FLUSH) == 0 && !arcp__stream_connection_is_busy(connection)) {
        make_due(connection, DUE_FLUSH);
    }
}

static void on_written(void *user, size_t size)
{
    arcp__stream_connection *connection = user;
    note_written(connection, size);
    if (arcp__stream_connection_is_busy(connection)) {
        return;
    }
    if (connection->framing->batch_left != NULL) {
        connection->framing->batch_left(connection);
    }
    arcp__stream_connection_flush(connection);
}

/* ---- reading ---- */

bool arcp__stream_connection_is_stopped(const arcp__stream_connection *connection)
{
    return connection->state == ARCP__CONNECTION_ENDED ||
           (connection->state == ARCP__CONNECTION_OPEN && connection->paused);
}

void arcp__stream_connection_deliver(arcp__stream_connection *connection, arcp_span frame)
{
    if (connection->state == ARCP__CONNECTION_OPEN && connection->callbacks.message != NULL) {
        connection->callbacks.message(connection->callbacks.user, &connection->base, frame);
    }
}

static void on_bytes(void *user, arcp_span bytes)
{
    arcp__stream_connection *connection = user;
    if (!arcp__admission_note_bytes(&connection->counted, bytes.size)) {
        return; /* it was evicted */
    }
    if ((connection->due & DUE_INPUT) == 0 && connection->leftover.size == 0) {
        connection->framing->input(connection, &bytes);
    }
    if (bytes.size == 0 || connection->state == ARCP__CONNECTION_ENDED) {
        return;
    }
    arcp_buf_append(&connection->leftover, bytes);
    if (connection->leftover.failed) {
        arcp__stream_connection_break(connection, ARCP_CLOSE_INTERNAL, "out of memory");
    }
}

static void continue_input(arcp__stream_connection *connection)
{
    arcp_span rest = arcp_buf_span(&connection->leftover);
    connection->framing->input(connection, &rest);
    if (connection->state == ARCP__CONNECTION_ENDED) {
        return;
    }
    if (rest.size > 0) {
        arcp_buf_consume(&connection->leftover, connection->leftover.size - rest.size);
        return;
    }
    arcp_buf_fini(&connection->leftover);
    if (arcp__stream_connection_is_stopped(connection)) {
        return;
    }
    if (connection->input_ended) {
        connection->framing->input_ended(connection);
    } else {
        connection->in->ops->start(connection->in);
    }
}

static void on_ended(void *user, const arcp_error *why)
{
    arcp__stream_connection *connection = user;
    if (why != NULL) {
        stream_broke(connection, why->message);
        return;
    }
    connection->input_ended = true;
    make_due(connection, DUE_INPUT); /* after the input received before */
}

/* ---- the task ---- */

static size_t unsent(const arcp__stream_connection *connection)
{
    return connection->next_payload + (connection->batch_payload - connection->payload_done);
}

static void run_task(arcp__task *task)
{
    arcp__stream_connection *connection =
        (arcp__stream_connection *)((char *)task - offsetof(arcp__stream_connection, task));
    const unsigned due = connection->due;
    connection->due = 0;
    if ((due & DUE_BROKEN) != 0 && connection->state != ARCP__CONNECTION_ENDED) {
        stream_broke(connection, "cannot write");
    }
    if ((due & DUE_INPUT) != 0 && connection->state != ARCP__CONNECTION_ENDED) {
        continue_input(connection);
    }
    if ((due & DUE_FLUSH) != 0) {
        arcp__stream_connection_flush(connection);
    }
    if ((due & DUE_DRAINED) != 0 && !connection->released) {
        const size_t written = connection->written_due;
        connection->written_due = 0;
        if (written > 0 && connection->callbacks.drained != NULL) {
            connection->callbacks.drained(connection->callbacks.user, &connection->base, written,
                                          unsent(connection));
        }
    }
    /* Anything that became due meanwhile waits for the next turn; `closed` is the last callback. */
    if ((due & DUE_CLOSED) != 0 && !connection->released) {
        const arcp_connection_callbacks callbacks = connection->callbacks;
        if (callbacks.closed != NULL) {
            callbacks.closed(callbacks.user, &connection->base, (arcp_close_code)connection->code,
                             connection->reason);
        }
    }
}

/* ---- what the owner calls ---- */

static void connection_set_callbacks(arcp_connection *base,
                                     const arcp_connection_callbacks *callbacks)
{
    stream_of(base)->callbacks = *callbacks;
}

static void connection_info(const arcp_connection *base, arcp_connection_info *out)
{
    const arcp__stream_connection *connection = (const arcp__stream_connection *)base;
    const arcp_connection_info info = {
        .transport = connection->transport,
        .peer = connection->peer,
        .encrypted = connection->encrypted,
        .local = connection->local,
        .waited_ms = connection->waited_ms,
        .closed_by_peer = connection->closed_by_peer,
    };
    arcp__options_give(out, &info, sizeof info);
}

static arcp_status connection_send(arcp_connection *base, arcp_span frame)
{
    arcp__stream_connection *connection = stream_of(base);
    if (connection->state != ARCP__CONNECTION_OPEN) {
        return ARCP_E_CLOSED;
    }
    const arcp_status status =
        connection->framing->encode(connection, frame, arcp__stream_connection_next(connection));
    if (status == ARCP_OK) {
        connection->next_payload += frame.size;
        arcp__stream_connection_flush_later(connection);
    }
    return status;
}

static void connection_flush(arcp_connection *base)
{
    arcp__stream_connection_flush(stream_of(base));
}

static size_t connection_unsent(const arcp_connection *base)
{
    return unsent((const arcp__stream_connection *)base);
}

static void connection_pause(arcp_connection *base)
{
    arcp__stream_connection *connection = stream_of(base);
    if (connection->paused || connection->state != ARCP__CONNECTION_OPEN) {
        return;
    }
    connection->paused = true;
    connection->in->ops->stop(connection->in);
}

static void connection_resume(arcp_connection *base)
{
    arcp__stream_connection *connection = stream_of(base);
    if (connection->paused) {
        connection->paused = false;
        make_due(connection, DUE_INPUT);
    }
}

static void connection_admit(arcp_connection *base)
{
    arcp__admission_admit(&stream_of(base)->counted);
}

static void connection_close(arcp_connection *base, arcp_close_code code, const char *reason)
{
    arcp__stream_connection_begin_close(stream_of(base), (uint16_t)code, arcp_span_cstr(reason));
}

static void connection_abort(arcp_connection *base)
{
    arcp__stream_connection_break(stream_of(base), ARCP_CLOSE_ABNORMAL, "");
}

static void on_timer_closed(uv_handle_t *handle)
{
    arcp__stream_connection *connection = handle->data;
    connection->framing->free(connection);
    arcp__loop_share_give_buffer(connection->share, &connection->next);
    arcp_buf_fini(&connection->leftover);
    arcp__loop_share_unref(connection->share);
    arcp__free(connection);
}

static void connection_free(arcp_connection *base)
{
    arcp__stream_connection *connection = stream_of(base);
    assert(!connection->released);
    connection->released = true;
    arcp__task_cancel(connection->share, &connection->task);
    arcp__stream_connection_break(connection, ARCP_CLOSE_ABNORMAL, "");
    uv_close((uv_handle_t *)&connection->timer, on_timer_closed);
}

static const arcp_connection_ops stream_connection_ops = {
    .struct_size = sizeof(arcp_connection_ops),
    .set_callbacks = connection_set_callbacks,
    .info = connection_info,
    .send = connection_send,
    .flush = connection_flush,
    .unsent = connection_unsent,
    .pause = connection_pause,
    .resume = connection_resume,
    .admit = connection_admit,
    .close = connection_close,
    .abort = connection_abort,
    .free = connection_free,
};

void arcp__stream_connection_init(arcp__stream_connection *connection, arcp__loop_share *share,
                                  const char *peer)
{
    connection->base.ops = &stream_connection_ops;
    connection->share = arcp__loop_share_ref(share);
    connection->task.run = run_task;
    if (connection->close_timeout_ms == 0) {
        connection->close_timeout_ms = ARCP_CLOSE_TIMEOUT_MS_DEFAULT;
    }
    snprintf(connection->peer, sizeof connection->peer, "%s", peer);
    uv_timer_init(arcp__loop_share_loop(share), &connection->timer); /* cannot fail */
    connection->timer.data = connection;
    connection->in->events = connection->out->events =
        (arcp__stream_events){on_bytes, on_ended, on_written, connection};
    make_due(connection, DUE_INPUT);
}
