/* What connections over byte streams have in common, whatever frames look like there:
 * the owner's callbacks and when they are made, pause and resume, batching and its
 * accounting, and the way to the end.
 *
 * States: OPEN -> CLOSING -> ENDED, or OPEN -> ENDED.
 *   OPEN     messages are delivered, unless the owner paused.
 *   CLOSING  somebody wants to close. No message is delivered, nothing new is accepted;
 *            what is buffered is written, and the framing does what its close needs. The
 *            timer bounds it.
 *   ENDED    the streams are closed; `closed` is told, or about to be.
 * The owner is told `closed` from a task, never from inside another call. The memory goes
 * when the owner has released the connection and the timer's handle is closed. */
#ifndef ARCP_TRANSPORT_STREAM_CONNECTION_H
#define ARCP_TRANSPORT_STREAM_CONNECTION_H

#include <uv.h>

#include <arcp/sys/transport.h>

#include "stream/stream.h"
#include "web/admission.h"

#define ARCP__CLOSE_REASON_MAX 123 /* bytes; RFC 6455 §5.5: a control frame has 125 */
#define ARCP__PEER_NAME_MAX    64

typedef struct arcp__stream_connection arcp__stream_connection;

/* What a kind of frames adds. Slots tell the owner of frames and of the end of the input, and
 * nothing else. */
typedef struct arcp__framing {
    /* Appends the frame in its outer form, or nothing. */
    arcp_status (*encode)(arcp__stream_connection *connection, arcp_span frame, arcp_buf *out);
    /* Delivers the frames in *input and takes them off it, also those of earlier calls
     * that it still holds, until there is no more or is_stopped says so. */
    void (*input)(arcp__stream_connection *connection, arcp_span *input);
    /* The orderly end of the input. */
    void (*input_ended)(arcp__stream_connection *connection);
    /* The stream has done with what it was given; more may be appended. NULL: nothing. */
    void (*batch_left)(arcp__stream_connection *connection);
    /* The connection has just become CLOSING, or it is and everything has been written:
     * go on towards the end. */
    void (*advance)(arcp__stream_connection *connection);
    /* A stream broke; NULL: that is the end. */
    void (*broken)(arcp__stream_connection *connection, const char *why);
    /* The connection has just become ENDED; code and reason are still to be told. */
    void (*ended)(arcp__stream_connection *connection);
    /* Its memory is about to go. */
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
    arcp__counted counted; /* zero: nothing counts it */
    /* What was accepted for sending and the system has not taken: frames in their outer form
     * (headers, line ends), which leave in batches, one write each. The owner counts in bytes of
     * the frames as it gave them, the payload: of a batch that has left in part, the share is in
     * proportion. */
    arcp_buf next;        /* not given to the stream yet */
    size_t next_payload;  /* in it */
    size_t batch_bytes;   /* what the stream has; 0: nothing */
    size_t batch_done;    /* of batch_bytes */
    size_t batch_payload; /* in the batch */
    size_t payload_done;  /* of batch_payload */
    size_t written_due;   /* payload for the next `drained` */
    arcp_buf leftover;    /* bytes that arrived when nobody wanted them */
    arcp__task task;
    unsigned due; /* what the task is to do: DUE_ bits */
    uv_timer_t timer;
    uint32_t close_timeout_ms;
    uint32_t waited_ms; /* from accept until it was made */
    arcp__connection_state state;
    bool paused;
    bool input_ended;
    bool closed_by_peer;
    bool peer_at_fault; /* why it closes stays, however it ends */
    bool released;
    bool encrypted;
    bool local;
    uint16_t code; /* why it closes; a wire value */
    char reason[ARCP__CLOSE_REASON_MAX + 1];
    char peer[ARCP__PEER_NAME_MAX];
};

/* Makes a connection of one that is zeroed but for framing, in and out (which it has from now on),
 * transport, close_timeout_ms (0: the default), waited_ms, encrypted, local, and bytes to send and
 * to read before all others in `next` and `leftover`. Takes a reference of `share`; cannot fail.
 * Reading begins in the next turn of the loop. */
void arcp__stream_connection_init(arcp__stream_connection *connection, arcp__loop_share *share,
                                  const char *peer);

/* ---- for framings ---- */

/* No further message may be delivered now: the owner paused, or it ended. */
bool arcp__stream_connection_is_stopped(const arcp__stream_connection *connection);

/* Hands a frame to the owner; it is dropped unless OPEN. */
void arcp__stream_connection_deliver(arcp__stream_connection *connection, arcp_span frame);

/* The stream still writes what it was given. */
static inline bool arcp__stream_connection_is_busy(const arcp__stream_connection *connection)
{
    return connection->batch_bytes != 0;
}

/* Something waits or is being written, control frames included. */
static inline bool arcp__stream_connection_is_writing(const arcp__stream_connection *connection)
{
    return connection->next.size > 0 || connection->batch_bytes != 0;
}

/* For appending to: memory that another connection has left, if there is any. */
static inline arcp_buf *arcp__stream_connection_next(arcp__stream_connection *connection)
{
    if (connection->next.data == NULL) {
        arcp__loop_share_take_buffer(connection->share, &connection->next);
    }
    return &connection->next;
}

/* OPEN -> CLOSING; the code and reason of the first call stay. The framing's advance is
 * called. */
void arcp__stream_connection_begin_close(arcp__stream_connection *connection, uint16_t code,
                                         arcp_span reason);

/* -> ENDED with the code and reason of begin_close. */
void arcp__stream_connection_end(arcp__stream_connection *connection);

/* -> ENDED in another way than was intended, or than nobody intended. When the peer is at
 * fault, code and reason stay those of its fault. */
void arcp__stream_connection_break(arcp__stream_connection *connection, uint16_t code,
                                   const char *reason);

/* Writes what waits. */
void arcp__stream_connection_flush(arcp__stream_connection *connection);

/* Makes sure that what was appended leaves at the end of the turn. */
void arcp__stream_connection_flush_later(arcp__stream_connection *connection);

#endif
