/* The members of a log's lists. Private to src/log. */
#ifndef ARCP_LOG_LOG_STATE_H
#define ARCP_LOG_LOG_STATE_H

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "log/log.h"

struct arcp__pending_effect {
    arcp__effect effect;
    arcp__port *port;                              /* NULL: none */
    arcp__pending_effect **queue;                  /* the queue that it is in */
    uint64_t batch_id;                             /* wait until this one is durable; 0: now */
    arcp_buf text;                                 /* owned */
    arcp_buf fields;                               /* owned */
    arcp__pending_effect *previous, *next;         /* of its queue */
    arcp__pending_effect *own_previous, *own_next; /* of its port */
};

struct arcp__read {
    arcp__read *previous, *next; /* in the order in which they were asked for */
    uint64_t id;
    arcp__read_done_fn done;
    void *user, *owner;
};

struct arcp__batch {
    arcp_store_batch store; /* as the owner gets it */
    arcp_store_op *ops;
    size_t op_capacity;
    arcp__arena arena;
    size_t touches; /* things other than operations that wait for it */
    size_t bytes;
    bool taken;
    int64_t taken_ns; /* the last time */
    arcp__batch *next;
};

/* Records in memory. They never move. */
struct arcp__chunk {
    arcp__chunk *next; /* newer */
    uint64_t first;    /* position of the first record */
    uint64_t batch_id; /* the newest batch with a record of this chunk or of an older one */
    uint32_t count;
    uint32_t used;     /* bytes of records */
    uint32_t capacity; /* size of `bytes` */
    char bytes[];      /* records from the front, the end of each from the back */
};

/* Makes the effects ready that waited for the committed batch or an earlier one. */
void arcp__effects_release_committed(arcp__log *log);
/* Like arcp__batch_add, but key and value are borrowed until the batch is durable. */
void arcp__batch_add_borrowed(arcp__log *log, const arcp_store_op *op);
/* Frees unreferenced streams whose last batch is durable now, and frees old records of other
 * streams until all fit TAILS_BYTES_MAX. */
void arcp__streams_committed(arcp__log *log);

#endif
