/* What a connection has accepted for sending and the system has not taken yet.
 *
 * Frames are appended in their outer form (headers, line ends); one flush hands all of
 * them to the stream in one write. Accounting is in bytes of the frames as they were
 * given: of a batch that has left in part, the share is in proportion. */
#ifndef ARCP_TRANSPORT_OUTBOX_H
#define ARCP_TRANSPORT_OUTBOX_H

#include "stream/stream.h"

/* Zero-initialised is empty. */
typedef struct arcp__outbox {
    arcp_buf next;        /* not given to the stream yet */
    size_t next_payload;  /* bytes of frames in it */
    size_t batch_bytes;   /* what the stream has; 0: nothing */
    size_t batch_done;    /* of batch_bytes */
    size_t batch_payload; /* bytes of frames in the batch */
    size_t payload_done;  /* of batch_payload */
} arcp__outbox;

/* For appending one frame; release with arcp__outbox_end. */
arcp_buf *arcp__outbox_begin(arcp__outbox *outbox, arcp__loop_share *share);

/* Keeps what was appended since `size_before` as `payload` bytes of frames, or takes it
 * back when memory ran out. */
ARCP_MUST_CHECK arcp_status arcp__outbox_end(arcp__outbox *outbox, size_t size_before,
                                             size_t payload);

/* Gives the stream what waits, unless it still writes. Adds to *left the bytes of frames
 * that have left. False when the stream cannot be written. */
ARCP_MUST_CHECK bool arcp__outbox_flush(arcp__outbox *outbox, arcp__stream *stream, size_t *left);

/* The stream reported `bytes` more; returns the bytes of frames that have left with them. */
size_t arcp__outbox_written(arcp__outbox *outbox, size_t bytes);

static inline size_t arcp__outbox_unsent(const arcp__outbox *outbox)
{
    return outbox->next_payload + (outbox->batch_payload - outbox->payload_done);
}

/* Nothing waits and nothing is being written, control frames included. */
static inline bool arcp__outbox_is_empty(const arcp__outbox *outbox)
{
    return outbox->next.size == 0 && outbox->batch_bytes == 0;
}

static inline bool arcp__outbox_is_busy(const arcp__outbox *outbox)
{
    return outbox->batch_bytes != 0;
}

void arcp__outbox_fini(arcp__outbox *outbox, arcp__loop_share *share);

#endif
