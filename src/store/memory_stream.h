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

typedef struct arcp__memory_stream arcp__memory_stream;

/* What the batch at hand does to one stream. Streams are many, and few are in a batch. */
typedef struct arcp__memory_plan {
    arcp__memory_stream *stream;
    uint64_t next; /* as the stream's, afterwards */
    uint64_t trim;
    size_t from; /* operations before this one were undone by a DROP */
    bool drop;
    size_t count;
    size_t bytes;
    arcp__memory_run *run; /* owned until committed */
} arcp__memory_plan;

struct arcp__memory_stream {
    UT_hash_handle hh;
    arcp__memory_run **runs; /* the oldest is at `head`; owned, unless they are `few` */
    arcp__memory_run *few[2];
    uint64_t next; /* position; 0: the stream does not exist */
    uint32_t head;
    uint32_t count; /* runs from head on */
    uint32_t capacity;
    uint32_t planned; /* 1-based place of its plan; 0: the batch at hand has nothing for it */
    uint32_t key_size;
    char key[];
};

/* Zero-initialised is empty. */
typedef struct arcp__memory_streams {
    arcp__memory_stream *streams;
    arcp__memory_plan *plans; /* owned array, of the batch at hand */
    size_t plan_count, plan_capacity;
    uint32_t *plan_of_op; /* owned array: of each operation of the batch that appends, its plan */
    size_t op_capacity;
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
