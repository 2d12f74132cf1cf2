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
#include "transport/outbox.h"

#define ARCP__CLOSE_REASON_MAX 123 /* bytes; RFC 6455 §5.5: a control frame has 125 */
#define ARCP__PEER_NAME_MAX    64

typedef struct arcp__stream_connection arcp__stream_connection;

/* What a kind of frames adds. No slot may call the owner but through
 * arcp__stream_connection_deliver and _tell_input_over. */
typedef struct arcp__framing {
    /* Appends the frame in its outer form. */
    arcp_status (*encode)(arcp__stream_connection *connection, arcp_span frame, arcp_buf *out);
    /* So many bytes were read, and are the next input; it may end the connection. NULL: nothing. */
    void (*arrived)(arcp__stream_connection *connection, size_t size);
    /* Delivers the frames in *input and takes them off it, also those of earlier calls
     * that it still holds, until there is no more or is_stopped says so. */
    void (*input)(arcp__stream_connection *connection, arcp_span *input);
    /* The orderly end of the input. */
    void (*input_ended)(arcp__stream_connection *connection);
    /* The stream has done with what it was given; more may be appended to the outbox. */
    void (*batch_left)(arcp__stream_connection *connection);
    /* The connection has just become CLOSING, or it is and everything has been written:
     * go on towards the end. */
    void (*advance)(arcp__stream_connection *connection);
    /* The owner knows who the peer is; NULL: that changes nothing. */
    void (*admit)(arcp__stream_connection *connection);
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
    arcp__outbox outbox;
    arcp_buf leftover;  /* bytes that arrived when nobody wanted them */
    size_t written_due; /* for the next `drained` */
    arcp__task task;
    unsigned due; /* what the task is to do: DUE_ bits */
    uv_timer_t timer;
    uint32_t close_timeout_ms;
    uint32_t waited_ms; /* from accept until it was made */
    arcp__connection_state state;
    bool paused;
    bool input_ended;
    bool told_input_over;
    bool closed_by_peer;
    bool peer_at_fault; /* why it closes stays, however it ends */
    bool released;
    bool encrypted;
    bool local;
    uint16_t code; /* why it closes; a wire value */
    char reason[ARCP__CLOSE_REASON_MAX + 1];
    char peer[ARCP__PEER_NAME_MAX];
};

typedef struct arcp__stream_connection_parts {
    const arcp__framing *framing;
    arcp__loop_share *share; /* a reference is taken */
    arcp__stream *in;        /* taken over, with its events */
    arcp__stream *out;
    uint32_t close_timeout_ms;
    uint32_t waited_ms;
    const char *transport; /* its name; static */
    const char *peer;      /* copied, cut to ARCP__PEER_NAME_MAX */
    bool encrypted;
    bool local;
} arcp__stream_connection_parts;

/* Fills a connection that is zeroed but for what is in outbox.next and leftover already
 * (bytes to send and to read before all others); cannot fail. Reading begins in the next
 * turn of the loop. */
void arcp__stream_connection_init(arcp__stream_connection *connection,
                                  const arcp__stream_connection_parts *parts);

/* ---- for framings ---- */

/* No further message may be delivered now: the owner paused, or it ended. */
bool arcp__stream_connection_is_stopped(const arcp__stream_connection *connection);

/* Hands a frame to the owner; it is dropped unless OPEN. */
void arcp__stream_connection_deliver(arcp__stream_connection *connection, arcp_span frame);

/* The input is over, and the output is not. Tells the owner, once; false when it does not want to
 * know: then that is the peer's close. */
bool arcp__stream_connection_tell_input_over(arcp__stream_connection *connection);

/* OPEN -> CLOSING; the code and reason of the first call stay. The framing's advance is
 * called. */
void arcp__stream_connection_begin_close(arcp__stream_connection *connection, uint16_t code,
                                         const char *reason, size_t reason_size);

/* -> ENDED with the code and reason of begin_close. */
void arcp__stream_connection_end(arcp__stream_connection *connection);

/* -> ENDED in another way than was intended, or than nobody intended. When the peer is at
 * fault, code and reason stay those of its fault. */
void arcp__stream_connection_break(arcp__stream_connection *connection, uint16_t code,
                                   const char *reason);

/* Writes what waits. */
void arcp__stream_connection_flush(arcp__stream_connection *connection);

/* Makes sure that what was appended to the outbox leaves at the end of the turn. */
void arcp__stream_connection_flush_later(arcp__stream_connection *connection);

#endif
