/* The common part of connections over byte streams, independent of the form of frames: the owner's
 * callbacks and when they are called, pause and resume, batching and its accounting, and closing.
 *
 * States: OPEN -> CLOSING -> ENDED, or OPEN -> ENDED.
 *   OPEN     messages are delivered, unless the owner has paused.
 *   CLOSING  one side is closing. No message is delivered, nothing new is accepted; what is
 *            buffered is written, and the framing performs its close. The timer limits it.
 *   ENDED    the streams are closed; `closed` has been called or will be.
 * `closed` is called from a task, never from inside another call. The memory is freed when the
 * owner has released the connection and the timer's handle is closed. */
#ifndef ARCP_TRANSPORT_STREAM_CONNECTION_H
#define ARCP_TRANSPORT_STREAM_CONNECTION_H

#include <uv.h>

#include <arcp/sys/transport.h>

#include "stream/stream.h"
#include "web/admission.h"

#define ARCP__CLOSE_REASON_MAX 123 /* bytes; RFC 6455 §5.5: a control frame has 125 */
#define ARCP__PEER_NAME_MAX    64

typedef struct arcp__stream_connection arcp__stream_connection;

/* The operations of one form of frames. They call no callback of the owner other than `message` and
 * `input_over`. */
typedef struct arcp__framing {
    /* Appends the encoded frame; on failure appends nothing. */
    arcp_status (*encode)(arcp__stream_connection *connection, arcp_span frame, arcp_buf *out);
    /* Delivers and consumes the frames in *input, until it is empty or is_stopped returns true. */
    void (*input)(arcp__stream_connection *connection, arcp_span *input);
    /* The orderly end of the input. */
    void (*input_ended)(arcp__stream_connection *connection);
    /* The stream has written the batch; more may be appended. NULL: nothing to do. */
    void (*batch_left)(arcp__stream_connection *connection);
    /* The connection has just become CLOSING, or it is CLOSING and everything has been written:
     * take the next step of the close. */
    void (*advance)(arcp__stream_connection *connection);
    /* A stream broke; NULL: the connection ends. */
    void (*broken)(arcp__stream_connection *connection, const char *why);
    /* The connection has just become ENDED; may still change code and reason. */
    void (*ended)(arcp__stream_connection *connection);
    /* Frees what the framing owns. */
    void (*free)(arcp__stream_connection *connection);
} arcp__framing;

typedef enum arcp__connection_state {
    ARCP__CONNECTION_OPEN,
    ARCP__CONNECTION_CLOSING,
    ARCP__CONNECTION_ENDED
} arcp__connection_state;

struct arcp__stream_connection {
    arcp_connection base;
    const char *transport;
    const arcp__framing *framing;
    arcp__loop_share *share;
    arcp__stream *in;
    arcp__stream *out; /* the same as `in` where bytes go both ways */
    arcp_connection_callbacks callbacks;
    arcp__counted counted; /* all zero: not counted */
    /* Accepted for sending, but not yet written: encoded frames (with headers or line ends), which
     * are written in batches, one write each. The owner counts payload, that is, bytes of the
     * frames that it passed to send: a partly written batch counts in proportion. */
    arcp_buf next;        /* not passed to the stream yet */
    size_t next_payload;  /* payload in `next` */
    size_t batch_bytes;   /* size of the batch that the stream is writing; 0: none */
    size_t batch_done;    /* bytes of the batch written so far */
    size_t batch_payload; /* payload in the batch */
    size_t payload_done;  /* payload of the bytes written so far */
    size_t written_due;   /* payload for the next `drained` */
    arcp_buf leftover;    /* bytes that arrived while the owner had paused */
    arcp__task task;
    unsigned due; /* work for the task: DUE_ bits */
    uv_timer_t timer;
    uint32_t close_timeout_ms;
    uint32_t waited_ms; /* from accept until the handshake was complete */
    arcp__connection_state state;
    bool paused;
    bool input_ended;
    bool closed_by_peer;
    bool peer_at_fault; /* code and reason stay, however the connection ends */
    bool released;
    bool encrypted;
    bool local;
    uint16_t code; /* the close code; a wire value */
    char reason[ARCP__CLOSE_REASON_MAX + 1];
    char peer[ARCP__PEER_NAME_MAX];
};

/* Initialises a zeroed connection in which the caller has set framing, in and out (which it then
 * owns), transport, close_timeout_ms (0: the default), waited_ms, encrypted, local, and, if there
 * are any, bytes to send and to read first in `next` and `leftover`. Takes a reference to `share`;
 * cannot fail. Reading begins in the next turn of the loop. */
void arcp__stream_connection_init(arcp__stream_connection *connection, arcp__loop_share *share,
                                  const char *peer);

/* ---- for framings ---- */

/* Whether no further message may be delivered now: the owner has paused, or the connection ended.
 */
bool arcp__stream_connection_is_stopped(const arcp__stream_connection *connection);

/* Delivers a frame to the owner; discards it unless the connection is OPEN. */
void arcp__stream_connection_deliver(arcp__stream_connection *connection, arcp_span frame);

/* Whether the stream is still writing the batch. */
static inline bool arcp__stream_connection_is_busy(const arcp__stream_connection *connection)
{
    return connection->batch_bytes != 0;
}

/* Whether anything, control frames included, waits or is being written. */
static inline bool arcp__stream_connection_is_writing(const arcp__stream_connection *connection)
{
    return connection->next.size > 0 || connection->batch_bytes != 0;
}

/* The buffer to append to; reuses memory from the free list. */
static inline arcp_buf *arcp__stream_connection_next(arcp__stream_connection *connection)
{
    if (connection->next.data == NULL) {
        arcp__loop_share_take_buffer(connection->share, &connection->next);
    }
    return &connection->next;
}

/* OPEN -> CLOSING; the code and reason of the first call stay. Calls the framing's advance. */
void arcp__stream_connection_begin_close(arcp__stream_connection *connection, uint16_t code,
                                         arcp_span reason);

/* -> ENDED with the code and reason of begin_close. */
void arcp__stream_connection_end(arcp__stream_connection *connection);

/* -> ENDED other than by an orderly close. If the peer is at fault, the code and reason of its
 * fault stay. */
void arcp__stream_connection_break(arcp__stream_connection *connection, uint16_t code,
                                   const char *reason);

/* Writes what is buffered. */
void arcp__stream_connection_flush(arcp__stream_connection *connection);

/* Schedules a flush for the end of the turn. */
void arcp__stream_connection_flush_later(arcp__stream_connection *connection);

#endif
