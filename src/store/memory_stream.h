/* Streams of the memory store: runs of records, changed in two steps so that a batch is
 * one transaction: planned and prepared (which may fail), then committed (which cannot). */
#ifndef ARCP_STORE_MEMORY_STREAM_H
#define ARCP_STORE_MEMORY_STREAM_H

#include <arcp/sys/store.h>

#include "base/hash.h"

/* The records that one batch appended to one stream. */
typedef struct arcp__memory_run {
    uint64_t first; /* position of the first record */
    size_t count;
    size_t bytes;
    char *data;    /* in the same allocation as the run */
    size_t ends[]; /* of each record in data */
} arcp__memory_run;

typedef struct arcp__memory_stream {
    UT_hash_handle hh;
    arcp__memory_run **runs; /* owned; the oldest is at `head` */
    size_t head;
    size_t count; /* runs from head on */
    size_t capacity;
    uint64_t next; /* position; 0: the stream does not exist */
    /* The plan of the batch at hand. */
    bool is_planned;
    struct arcp__memory_stream *next_planned;
    uint64_t plan_next;
    uint64_t plan_trim;
    size_t plan_from; /* operations before this one were undone by a DROP */
    bool plan_drop;
    size_t plan_count;
    size_t plan_bytes;
    arcp__memory_run *plan_run; /* owned until committed */
    size_t key_size;
    char key[];
} arcp__memory_stream;

/* Zero-initialised is empty. */
typedef struct arcp__memory_streams {
    arcp__memory_stream *streams;
    arcp__memory_stream *planned;
    uint64_t bytes;
} arcp__memory_streams;

/* Frees everything. */
void arcp__memory_streams_fini(arcp__memory_streams *streams);

/* Takes operation number `at` of a batch into the plan: an APPEND, TRIM or DROP.
 * ARCP_E_CORRUPT (not the next position), ARCP_E_NO_MEMORY; then the caller abandons. */
ARCP_MUST_CHECK arcp_status arcp__memory_streams_plan(arcp__memory_streams *streams,
                                                      const arcp_store_op *op, size_t at,
                                                      arcp_error *err);
/* Makes room for what is planned. ARCP_E_NO_MEMORY; then the caller abandons. */
ARCP_MUST_CHECK arcp_status arcp__memory_streams_prepare(arcp__memory_streams *streams,
                                                         arcp_error *err);
/* Copies the records of the prepared batch and makes the plan true. */
void arcp__memory_streams_commit(arcp__memory_streams *streams, const arcp_store_op *ops,
                                 size_t count);
void arcp__memory_streams_abandon(arcp__memory_streams *streams);

/* Records from `from` on, as the vtable's read has it, into `records` (room for
 * `count_max`); the spans live until the next commit. Returns how many; `first` becomes
 * the position of the first, or the stream's next position when there are none. */
size_t arcp__memory_streams_read(const arcp__memory_streams *streams, arcp_span key, uint64_t from,
                                 size_t count_max, size_t bytes_max, arcp_span *records,
                                 uint64_t *first);

#endif
