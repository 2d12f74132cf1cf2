/* The close handshake (RFC 6455 §7):
 *
 *   we close      Close is sent after what is buffered; input is discarded until the peer's
 *                 Close.
 *   peer closes   its Close is answered after what is buffered.
 *   peer errs     Close with the error's code is sent, and all further input is discarded, because
 *                 framing is lost.
 *
 * When both Closes have been sent, a server ends the TCP connection and a client waits for that, so
 * that the last bytes are not lost and the TIME_WAIT is on the server's side. After an error we
 * half-close and wait for the peer's end: closing with unread input would reset the connection, and
 * the reset may overtake our Close. The timer limits all of it. */
#include "transport/websocket_connection.h"

#include "base/alloc.h"
#include "base/utf8.h"

typedef struct websocket_connection {
    arcp__stream_connection base;
    arcp__websocket_pool *pool;
    arcp__websocket_reader reader;
    bool close_sent;
    bool close_received;
    bool finished; /* our half of the stream is closed */
    bool pong_due; /* a ping is to be answered when the current batch is written */
    uint8_t pong_size;
    char pong[ARCP__WEBSOCKET_CONTROL_MAX];
} websocket_connection;

/* Control frames do not count as payload. */
static void append_control(websocket_connection *connection, arcp__websocket_opcode opcode,
                           arcp_span payload)
{
    if (!arcp__websocket_frame_append(connection->pool, opcode, payload,
                                      arcp__stream_connection_next(&connection->base))) {
        arcp__stream_connection_break(&connection->base, ARCP_CLOSE_INTERNAL, "out of memory");
    }
}

static arcp_status websocket_encode(arcp__stream_connection *base, arcp_span frame, arcp_buf *out)
{
    const websocket_connection *connection = (const websocket_connection *)base;
    const bool is_appended = arcp__websocket_frame_append(
        connection->pool,
        connection->reader.is_binary ? ARCP__WEBSOCKET_BINARY : ARCP__WEBSOCKET_TEXT, frame, out);
    return is_appended ? ARCP_OK : ARCP_E_NO_MEMORY;
}

/* ---- closing ---- */

static void send_close(websocket_connection *connection)
{
    const arcp__stream_connection *base = &connection->base;
    const arcp_span reason = arcp_span_cstr(base->reason);
    const uint16_t code =
        arcp__websocket_close_code_is_valid(base->code) ? base->code : ARCP_CLOSE_INTERNAL;
    char payload[2 + ARCP__CLOSE_REASON_MAX] = {(char)(code >> 8), (char)(code & 0xff)};
    size_t size = 2;
    if (base->code == ARCP__WEBSOCKET_NO_CODE) {
        size = 0;
    } else if (reason.size > 0 && arcp__utf8_is_valid(reason)) {
        memcpy(payload + 2, reason.data, reason.size);
        size += reason.size;
    }
    connection->close_sent = true;
    append_control(connection, ARCP__WEBSOCKET_CLOSE, arcp_span_make(payload, size));
}

static void websocket_advance(arcp__stream_connection *base)
{
    websocket_connection *connection = (websocket_connection *)base;
    if (!connection->close_sent) {
        send_close(connection);
        return; /* called again when it is written */
    }
    if (arcp__stream_connection_is_writing(base)) {
        return;
    }
    const bool is_agreed = connection->close_received || base->peer_at_fault;
    const bool is_server = connection->reader.peer_masks;
    if (is_agreed && base->input_ended) {
        arcp__stream_connection_end(base);
    } else if (base->peer_at_fault && !connection->finished) {
        connection->finished = true;
        base->out->ops->finish(base->out);
    } else if (connection->close_received && is_server && !connection->finished) {
        connection->finished = true;
        base->out->ops->finish(base->out);
        arcp__stream_connection_end(base);
    }
}

static void websocket_input_ended(arcp__stream_connection *base)
{
    const websocket_connection *connection = (websocket_connection *)base;
    if (connection->close_received || base->peer_at_fault) {
        websocket_advance(base);
    } else {
        arcp__stream_connection_break(base, ARCP_CLOSE_ABNORMAL,
                                      "the peer ended the connection without a close");
    }
}

/* ---- reading ---- */

static void send_pong(websocket_connection *connection, arcp_span payload)
{
    if (connection->base.state != ARCP__CONNECTION_OPEN) {
        return;
    }
    if (arcp__stream_connection_is_busy(&connection->base)) {
        /* For a peer that does not read, pongs are not queued: only its latest ping is answered
         * (§5.5.3). */
        connection->pong_due = true;
        connection->pong_size = (uint8_t)payload.size;
        memcpy(connection->pong, payload.data, payload.size);
        return;
    }
    append_control(connection, ARCP__WEBSOCKET_PONG, payload);
    arcp__stream_connection_flush_later(&connection->base);
}

static void websocket_batch_left(arcp__stream_connection *base)
{
    websocket_connection *connection = (websocket_connection *)base;
    if (connection->pong_due) {
        connection->pong_due = false;
        send_pong(connection, arcp_span_make(connection->pong, connection->pong_size));
    }
}

static void websocket_input(arcp__stream_connection *base, arcp_span *input)
{
    websocket_connection *connection = (websocket_connection *)base;
    while (!arcp__stream_connection_is_stopped(base)) {
        const arcp__websocket_event event = arcp__websocket_reader_next(&connection->reader, input);
        switch (event.type) {
        case ARCP__WEBSOCKET_NOTHING:
            return;
        case ARCP__WEBSOCKET_MESSAGE:
            arcp__stream_connection_deliver(base, event.data);
            break;
        case ARCP__WEBSOCKET_PINGED:
            send_pong(connection, event.data);
            break;
        case ARCP__WEBSOCKET_PONGED:
            break;
        case ARCP__WEBSOCKET_CLOSED:
            connection->close_received = true;
            if (base->state == ARCP__CONNECTION_OPEN) {
                base->closed_by_peer = true;
                arcp__stream_connection_begin_close(base, event.code, event.data);
            } else {
                websocket_advance(base);
            }
            break;
        case ARCP__WEBSOCKET_WRONG:
            base->peer_at_fault = true;
            if (base->state == ARCP__CONNECTION_OPEN) {
                arcp__stream_connection_begin_close(base, event.code, arcp_span_cstr(event.why));
            } else {
                websocket_advance(base);
            }
            break;
        }
    }
}

/* ---- admission ---- */

/* Its place and memory are needed immediately: the Close is sent only if the system accepts it
 * without waiting, and large buffers are freed here, not in a later turn of the loop. */
static void evict(void *user, const char *why)
{
    websocket_connection *connection = user;
    arcp__stream_connection *base = &connection->base;
    arcp__stream_connection_begin_close(base, ARCP_CLOSE_TRY_AGAIN, arcp_span_cstr(why));
    arcp__stream_connection_flush(base);
    arcp__stream_connection_end(base);
    arcp__websocket_reader_fini(&connection->reader);
    arcp_buf_fini(&base->leftover);
}

/* ---- the rest ---- */

static void websocket_ended(arcp__stream_connection *base)
{
    /* A Close without a code is a normal one. */
    if (base->code == ARCP__WEBSOCKET_NO_CODE) {
        base->code = ARCP_CLOSE_NORMAL;
    }
}

static void websocket_free(arcp__stream_connection *base)
{
    websocket_connection *connection = (websocket_connection *)base;
    arcp__websocket_reader_fini(&connection->reader);
    arcp__websocket_pool_unref(connection->pool);
}

static const arcp__framing websocket_framing = {
    .encode = websocket_encode,
    .input = websocket_input,
    .input_ended = websocket_input_ended,
    .batch_left = websocket_batch_left,
    .advance = websocket_advance,
    .ended = websocket_ended,
    .free = websocket_free,
};

arcp_status arcp__websocket_connection_new(const arcp__websocket_connection_options *options,
                                           arcp_connection **out, arcp_error *err)
{
    websocket_connection *connection = arcp__alloc(sizeof *connection);
    if (connection == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    const arcp__web_upgrade *upgraded = &options->upgraded;
    arcp__stream_connection *base = &connection->base;
    arcp_buf_append(&base->next, options->greeting);
    arcp_buf_append(&base->leftover, upgraded->early);
    if (base->next.failed || base->leftover.failed) {
        arcp_buf_fini(&base->next);
        arcp_buf_fini(&base->leftover);
        arcp__free(connection);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    base->framing = &websocket_framing;
    base->in = base->out = upgraded->stream;
    base->transport = options->transport;
    base->close_timeout_ms = options->close_timeout_ms;
    base->waited_ms = upgraded->waited_ms;
    base->encrypted = upgraded->is_encrypted;
    base->local = upgraded->is_local;
    arcp__stream_connection_init(base, upgraded->share, upgraded->peer);
    connection->pool = arcp__websocket_pool_ref(options->pool);
    if (upgraded->counted != NULL) {
        arcp__admission_move(upgraded->counted, &base->counted, evict, connection);
    }
    arcp__websocket_reader_init(&connection->reader, options->pool,
                                options->frame_bytes_max == 0 ? ARCP_FRAME_BYTES_DEFAULT
                                                              : options->frame_bytes_max,
                                options->first_frame_bytes_max);
    connection->reader.is_binary = options->is_binary;
    arcp__stream_connection_flush(base);
    *out = &base->base;
    return ARCP_OK;
}
