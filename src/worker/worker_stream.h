/* One of the three streams of a job on its worker: its items, the bytes of its output (of a plain
 * program), or the lines of its standard error. Private to src/worker.
 *
 * What is added gets the next numbers and is kept, in runs of at most ARCP__WORKER_RUN_BYTES, until
 * the runtime says that the store has it. A link sends run by run; after a new link everything that
 * is kept is sent again:
 *
 *     forgotten   kept, and sent on this link         kept, not sent
 *   ...........|###########################|##########################|
 *            first                      `unsent`                     next
 *
 * Items below `first` may still be kept, one by one: open ones. */
#ifndef ARCP_WORKER_WORKER_STREAM_H
#define ARCP_WORKER_WORKER_STREAM_H

#include "worker/worker_frame.h"

#define ARCP__WORKER_RUN_BYTES 65536u

/* Neighbouring pieces that are sent together. */
typedef struct arcp__worker_run {
    struct arcp__worker_run *prev, *next;
    uint64_t first, count;
    uint64_t sent; /* of `count`, on this link */
    arcp__worker_item what;
    size_t begin, sent_end; /* in `bytes`: of what is kept, and of what is not sent */
    arcp_buf bytes;
} arcp__worker_run;

typedef struct arcp__worker_stream {
    bool counts_bytes; /* a number is that of a byte; else of a line, with its line feed */
    uint64_t first,
        next;            /* the first one that was not forgotten, but for open ones; the next one */
    size_t kept_bytes;   /* what all runs take */
    size_t unsent_bytes; /* of them, what is not sent on this link */
    arcp__worker_run *runs;   /* owned; in ascending order */
    arcp__worker_run *unsent; /* the first one that is not sent wholly; NULL: all are */
} arcp__worker_stream;

/* What is sent next. */
typedef struct arcp__worker_piece {
    uint64_t first, count;
    arcp__worker_item what;
    arcp_span bytes; /* valid until the stream changes */
} arcp__worker_piece;

void arcp__worker_stream_init(arcp__worker_stream *stream, bool counts_bytes);
void arcp__worker_stream_fini(arcp__worker_stream *stream);

/* Adds a line (a line feed is added to it), a record, or a line that was too long, which has no
 * bytes; or bytes of output. False when out of memory: nothing was added. */
ARCP_MUST_CHECK bool arcp__worker_stream_add(arcp__worker_stream *stream, arcp__worker_item what,
                                             arcp_span bytes);

/* Takes the next piece that is not sent. False: there is none. */
bool arcp__worker_stream_take(arcp__worker_stream *stream, arcp__worker_piece *out);
/* A new link: nothing is sent on it. */
void arcp__worker_stream_rewind(arcp__worker_stream *stream);

/* Whether the number is kept. */
bool arcp__worker_stream_has(const arcp__worker_stream *stream, uint64_t number);

/* Forgets the numbers below `end`, except those in `open`, which are in ascending order. False when
 * out of memory: some that should have been forgotten may be kept. */
ARCP_MUST_CHECK bool arcp__worker_stream_forget(arcp__worker_stream *stream, uint64_t end,
                                                const uint64_t *open, size_t open_count);

#endif
