/* What an owner asked of a store, while it waits and when it is answered. */
#ifndef ARCP_STORE_REQUEST_H
#define ARCP_STORE_REQUEST_H

#include <arcp/sys/store.h>

#include "base/arena.h"
#include "base/hash.h"

typedef enum arcp__request_kind {
    ARCP__REQUEST_BATCH,
    ARCP__REQUEST_READ,
    ARCP__REQUEST_SCAN
} arcp__request_kind;

/* Made by the owner's thread, freed by it after delivery; in between it belongs to
 * whichever thread took it from a queue. */
typedef struct arcp__request {
    struct arcp__request *prev, *next; /* in a list, the oldest first */
    arcp__request_kind kind;
    uint64_t id;
    uint64_t sequence; /* of the newest batch submitted so far, this one included */
    uint64_t epoch;    /* failures delivered before this was submitted */
    /* BATCH; borrowed from the owner */
    const arcp_store_op *ops;
    size_t count;
    size_t bytes;
    /* READ, SCAN */
    arcp_store_table table;
    uint64_t from;
    size_t count_max;
    size_t bytes_max;
    /* the answer */
    arcp_status status;
    arcp_error error;
    uint64_t first;       /* READ */
    arcp_span *records;   /* READ; owned array, spans into `arena` */
    arcp_store_row *rows; /* SCAN; likewise */
    size_t answer_count;  /* of records or rows */
    bool is_last;         /* SCAN: no page follows */
    arcp__arena arena;
    size_t key_size; /* of the stream, or the prefix */
    char key[];
} arcp__request;

/* Checked requests, or a failure as the vtable's submit, read and scan return it. */
ARCP_MUST_CHECK arcp_status arcp__request_new_batch(const arcp_store_batch *batch,
                                                    arcp__request **out, arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__request_new_read(uint64_t id, arcp_span stream, uint64_t from,
                                                   size_t count_max, size_t bytes_max,
                                                   arcp__request **out, arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__request_new_scan(uint64_t id, arcp_store_table table,
                                                   arcp_span prefix, arcp__request **out,
                                                   arcp_error *err);
void arcp__request_free(arcp__request *request); /* NULL is accepted */

static inline arcp_span arcp__request_key(const arcp__request *request)
{
    return arcp_span_make(request->key, request->key_size);
}

#endif
