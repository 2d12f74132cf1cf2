/* What the log remembers. Private to src/log. */
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

typedef struct arcp__batch {
    arcp_store_batch store; /* what the owner sees */
    arcp_store_op *ops;
    size_t op_capacity;
    arcp__arena arena;
    size_t touches; /* what else waits for it */
    size_t bytes;
    bool taken;
    struct arcp__batch *next;
} arcp__batch;

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

struct arcp__log {
    arcp__context *context;
    arcp__log_options options;

    arcp__pending_effect *lines; /* they wait for nothing, and go first */
    arcp__pending_effect *ready, *waiting;
    arcp__pending_effect *handed;      /* its text is at the owner's until the next call */
    arcp__pending_effect *handed_line; /* likewise */
    arcp__pending_effect *effect_free;
    bool audit_failing; /* what was decided cannot be recorded */
    arcp__job_gates gates;

    arcp__batch *open_batch; /* being filled */
    arcp__batch *batches;    /* taken or to be taken again, oldest first */
    arcp__batch *batch_free;
    uint64_t next_batch_id;
    uint64_t committed_id;
    size_t queue_bytes; /* of all batches that are not durable */
    unsigned failures;  /* of the store in a row; 0: it can write */
    arcp__timer retry_timer;

    arcp__read *reads;
    uint64_t next_read_id;

    arcp__stream *dying; /* without references: a batch still borrows bytes */
    arcp__stream *tails; /* with records in memory; the one that was quiet longest comes first */
    size_t tail_bytes;
};

/* Moves what waited for batches up to the committed one. */
void arcp__effects_release_committed(arcp__log *log);
/* As arcp__batch_add; key and value live until the batch is durable. */
void arcp__batch_add_borrowed(arcp__log *log, const arcp_store_op *op);
/* Frees streams whose last batch is durable now, and keeps what all others have in memory within
 * its bound. */
void arcp__streams_committed(arcp__log *log);

#endif
