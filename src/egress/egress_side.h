/* One side of a connection: a stream with what was received from it and what is to be written to
 * it, each up to a limit. */
#ifndef ARCP_EGRESS_EGRESS_SIDE_H
#define ARCP_EGRESS_EGRESS_SIDE_H

#include "stream/stream.h"

#define ARCP__EGRESS_SIDE_MAX ((size_t)64 * 1024) /* bytes that wait in one direction, about */

typedef struct arcp__egress_side {
    arcp__loop_share *share;
    arcp__stream *stream; /* NULL: not open */
    /* Called from the loop when the side has received something, has ended, or has room. */
    void (*changed)(void *user);
    void *user;
    uint64_t *received_bytes; /* counters of the owner; NULL: not counted */
    uint64_t *sent_bytes;
    arcp_buf in;  /* received and not consumed */
    arcp_buf out; /* to be written when the stream is not busy */
    size_t busy;  /* bytes that the stream is still writing */
    bool is_reading;
    bool has_ended;   /* nothing more is received */
    bool is_broken;   /* nothing can be written, either */
    bool finishes;    /* our half is closed when everything is written */
    bool is_finished; /* it is closed */
    char why[128];    /* why it is broken, as the stream says; empty: it does not */
} arcp__egress_side;

/* Takes over the stream. The fields above `in` that follow `stream` must be set. */
void arcp__egress_side_open(arcp__egress_side *side, arcp__stream *stream);
/* Puts TLS over the open stream, on which nothing may be written: its bytes from now on, and those
 * that were received and not consumed, are TLS. `host` as for arcp__tls_stream_new. False when out
 * of memory; then the side can only be closed. */
ARCP_MUST_CHECK bool arcp__egress_side_secure(arcp__egress_side *side,
                                              const arcp__tls_context *context, const char *host);
/* Closes the stream, if there is one, and forgets what was received and not written. */
void arcp__egress_side_close(arcp__egress_side *side);

/* Writes `out` if the stream is not busy, then finishes if that is due. Returns whether anything
 * changed. */
bool arcp__egress_side_flush(arcp__egress_side *side);
/* Reads while there is room for what is received. */
void arcp__egress_side_read(arcp__egress_side *side);

/* Whether more may be appended to `out`. */
static inline bool arcp__egress_side_has_room(const arcp__egress_side *side)
{
    return side->out.size + side->busy < ARCP__EGRESS_SIDE_MAX;
}

/* Whether everything was written. */
static inline bool arcp__egress_side_is_flushed(const arcp__egress_side *side)
{
    return side->is_broken || side->out.size + side->busy == 0;
}

#endif
