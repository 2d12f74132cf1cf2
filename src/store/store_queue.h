/* The common part of all stores: queues for the owner's requests and the answers to them.
 *
 *   owner    submit     -> [batches] -> writer -> [answers] -> poll -> callbacks
 *            read, scan -> [reads]   -> reader -> [answers]
 *
 * Promises: batches are taken and answered in the order of submission. A read is passed to the
 * reader when every batch submitted before it was answered. Answers are delivered in the order in
 * which they were given. The first answer after each poll wakes the owner. Answers to reads that
 * wait for delivery take at most about ARCP__QUEUE_ROOM bytes; then the reader waits. One mutex
 * guards everything that is not marked as the owner's.
 *
 * A store without threads sets `serve`: requests go directly into the list of answers, and `serve`
 * computes the answer when it is delivered. It takes no lock. */
#ifndef ARCP_STORE_STORE_QUEUE_H
#define ARCP_STORE_STORE_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>

#include <arcp/sys/store.h>

#include "base/arena.h"
#include "base/hash.h"

#define ARCP__QUEUE_ROOM 4194304u

typedef enum arcp__request_kind {
    ARCP__REQUEST_BATCH,
    ARCP__REQUEST_READ,
    ARCP__REQUEST_SCAN
} arcp__request_kind;

/* Created and, after delivery, freed by the owner's thread. In between it belongs to the thread
 * that has taken it from a queue. */
typedef struct arcp__request {
    struct arcp__request *prev, *next; /* in a list, oldest first */
    arcp__request_kind kind;
    uint64_t id;
    uint64_t sequence; /* number of batches submitted so far, including this one */
    uint64_t epoch;    /* number of failures delivered before this was submitted */
    /* BATCH; borrowed from the owner */
    const arcp_store_op *ops;
    size_t count;
    size_t bytes;
    /* READ, SCAN */
    arcp_store_table table;
    uint64_t from;
    size_t count_max;
    size_t bytes_max; /* counted down while records are added */
    /* the answer */
    arcp_error error;
    uint64_t first;       /* READ */
    arcp_span *records;   /* READ; owned array, spans into `arena` or into the store */
    arcp_store_row *rows; /* SCAN; in the same way */
    size_t answer_count;  /* of records or rows */
    size_t capacity;      /* of `records` */
    bool is_full;         /* READ: the last record did not fit */
    bool is_last;         /* the last answer to this request; only a SCAN has several */
    size_t held;          /* bytes that count towards `undelivered` */
    arcp__arena arena;
    size_t key_size; /* of the stream, or the prefix */
    char key[];
} arcp__request;

/* NULL when out of memory. */
arcp__request *arcp__request_new(arcp__request_kind kind, uint64_t id, arcp_span key);
void arcp__request_free(arcp__request *request); /* NULL is accepted */

static inline arcp_span arcp__request_key(const arcp__request *request)
{
    return arcp_span_make(request->key, request->key_size);
}

/* Adds the record at `position` to the answer of a READ, or sets is_full if it does not fit. False
 * when out of memory. */
ARCP_MUST_CHECK bool arcp__request_add(arcp__request *read, uint64_t position, arcp_span record);

typedef struct arcp__store_queue {
    arcp_store base;
    /* Computes the answer to a request that is about to be delivered; NULL: threads do. */
    void (*serve)(struct arcp__store_queue *queue, arcp__request *request);
    /* Used by the owner's thread only. */
    arcp_store_callbacks callbacks; /* set before the first request */
    arcp__request *ready;           /* taken from `answers`, being delivered */
    uint64_t epoch;                 /* failures delivered */
    bool is_polling;
    bool is_closing;
    atomic_bool is_woken; /* there may be answers; set with the mutex, and cleared by poll */
    /* Guarded by the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t batches_changed; /* the writer waits for it */
    pthread_cond_t reads_changed;   /* the reader waits for it */
    pthread_cond_t answers_changed; /* close waits for it */
    arcp__request *batches;
    arcp__request *reads;
    arcp__request *answers;
    uint64_t submitted;   /* sequence of the newest batch submitted */
    uint64_t answered;    /* sequence of the newest batch answered */
    uint64_t outstanding; /* requests whose last answer was not delivered yet */
    size_t undelivered;   /* bytes of answers to reads */
    bool is_stopping;
    arcp_store_stats stats;
} arcp__store_queue;

void arcp__queue_init(arcp__store_queue *queue);
void arcp__queue_fini(arcp__store_queue *queue);

/* ---- the owner's thread ---- */

/* Implement the vtable's slots of the same names; `base` must be that of a queue. */
void arcp__queue_set_callbacks(arcp_store *base, const arcp_store_callbacks *callbacks);
arcp_status arcp__queue_submit(arcp_store *base, const arcp_store_batch *batch, arcp_error *err);
arcp_status arcp__queue_read(arcp_store *base, uint64_t read_id, arcp_span stream, uint64_t from,
                             size_t count_max, size_t bytes_max, arcp_error *err);
arcp_status arcp__queue_scan(arcp_store *base, uint64_t read_id, arcp_store_table table,
                             arcp_span prefix, arcp_error *err);
/* Delivers at most 1024 answers; true if there are more. */
bool arcp__queue_poll(arcp_store *base);
/* Sets everything except the size of the store. */
void arcp__queue_stats(arcp_store *base, uint64_t bytes, arcp_store_stats *out);
/* Refuses new requests, waits for the answers to the old ones and delivers them, then tells both
 * threads to end. */
void arcp__queue_close(arcp__store_queue *queue);

/* ---- the writer's thread ---- */

/* Takes all waiting batches, until their bytes exceed `bytes_max`. With `may_wait` it waits for the
 * first. False: the thread must end. */
bool arcp__queue_take_batches(arcp__store_queue *queue, bool may_wait, size_t bytes_max,
                              arcp__request **out);
/* Answers the batches in the list. All batches taken before must have been answered. */
void arcp__queue_answer_batches(arcp__store_queue *queue, arcp__request *batches);
/* Adds a transaction, which began at `began_ns` (CLOCK_MONOTONIC), to the statistics. */
void arcp__queue_count_commit(arcp__store_queue *queue, uint64_t batches, uint64_t ops,
                              int64_t began_ns);

/* ---- the reader's thread ---- */

/* Takes a read or scan that may be served now; with `may_wait` it waits for one. NULL: there is
 * none, or the thread must end. */
arcp__request *arcp__queue_take_read(arcp__store_queue *queue, bool may_wait);
/* Adds an answer, which is the last one to its request if `is_last` is set, and waits until there
 * is room for another one. */
void arcp__queue_answer_read(arcp__store_queue *queue, arcp__request *answer);

/* ---- for all stores ---- */

/* Whether the operation is on a table; otherwise it is on a stream. */
static inline bool arcp__store_is_of_row(const arcp_store_op *op)
{
    return op->kind == ARCP_STORE_PUT || op->kind == ARCP_STORE_DELETE;
}

/* Sets ARCP_E_CORRUPT for an append that is not at the stream's next position. */
arcp_status arcp__store_position_error(const arcp_store_op *op, uint64_t next, arcp_error *err);

#endif
