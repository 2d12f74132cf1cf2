/* What a log's lists hold. Private to src/log. */
#ifndef ARCP_LOG_LOG_STATE_H
#define ARCP_LOG_LOG_STATE_H

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "log/log.h"

struct arcp__pending_effect {
    arcp__effect effect;
    arcp__port *port;                              /* NULL: it goes to none */
    arcp__pending_effect **queue;                  /* that it stands in */
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
    arcp_store_batch store; /* what the owner sees */
    arcp_store_op *ops;
    size_t op_capacity;
    arcp__arena arena;
    size_t touches; /* what else waits for it */
    size_t bytes;
    bool taken;
    arcp__batch *next;
};

/* Records in memory, which never move. */
struct arcp__chunk {
    arcp__chunk *next; /* newer */
    uint64_t first;    /* position of the first record */
    uint64_t batch_id; /* the newest batch that has records of it, or of the one before it */
    uint32_t count;
    uint32_t used;     /* by records */
    uint32_t capacity; /* of bytes */
    char bytes[];      /* records from the front, the end of each from the back */
};

/* Moves what waited for batches up to the committed one. */
void arcp__effects_release_committed(arcp__log *log);
/* As arcp__batch_add; key and value live until the batch is durable. */
void arcp__batch_add_borrowed(arcp__log *log, const arcp_store_op *op);
/* Frees streams whose last batch is durable now, and keeps what all others have in memory within
 * its bound. */
void arcp__streams_committed(arcp__log *log);

#endif
