/* What one transaction writes: the operations of its batches, as the parameters of prepared
 * statements, and the writer's view of the streams.
 *
 * All appends to a stream in one transaction are joined by line feeds into runs of up to 7 900
 * bytes, which fit a page; a longer record is a run alone. Of several changes of a row the last one
 * counts. The writer gives streams their numbers and checks positions itself: it knows the next
 * position of the streams that it has met, and looks the others up first (`missing`).
 *
 * Order of calls: begin; miss for each batch, and find; batch for each; finish; send. If one fails,
 * abandon: nothing of the transaction was sent. After a transaction that was sent and not
 * committed: forget_all. */
#ifndef ARCP_STORE_POSTGRES_PLAN_H
#define ARCP_STORE_POSTGRES_PLAN_H

#include <arcp/time.h>

#include "base/arena.h"
#include "base/hash.h"
#include "store/postgres_call.h"
#include "store/store_queue.h"

#define ARCP__PG_RUN_BYTES_MAX    7900u
#define ARCP__PG_STREAMS_KEPT_MAX 16384u
#define ARCP__PG_TRIM_RUNS        16u /* that can go until a stream is trimmed, or after */
#define ARCP__PG_TRIM_NS          (1 * ARCP_NS_PER_SEC)

typedef struct arcp__pg_piece {
    arcp_span record;
    struct arcp__pg_piece *next; /* of the same run */
} arcp__pg_piece;

typedef struct arcp__pg_stream {
    UT_hash_handle hh;
    struct arcp__pg_stream *prev, *next_used; /* by last use, oldest first */
    struct arcp__pg_stream *next_touched;
    struct arcp__pg_stream *trim_prev, *trim_next; /* by trim_since_ns */
    int64_t id;                                    /* 0: there is no such stream */
    uint64_t next;                                 /* position, with this transaction's appends */
    uint64_t last;                                 /* the first position of the last run */
    uint64_t trim;                                 /* runs that end here or before may be deleted */
    uint64_t trimmed;                              /* the last `trim` that was written */
    int64_t trim_since_ns;                         /* 0: none may */
    uint64_t ends[ARCP__PG_TRIM_RUNS];             /* of the runs since the last trim */
    unsigned end_count;
    bool is_touched; /* by this transaction */
    bool is_assumed; /* not to exist, because the first append is at 0; its insertion verifies that
                      */
    bool is_missing; /* to be looked up */
    bool is_new;     /* created by this transaction; its row waits for the end */
    arcp__pg_piece *first_piece, *last_piece;
    size_t piece_count;
    size_t piece_bytes; /* with the line feeds between them */
    size_t key_size;
    char key[];
} arcp__pg_stream;

/* The last change of a row. */
typedef struct arcp__pg_change {
    UT_hash_handle hh;
    const arcp_store_op *op;
    char key[]; /* the table's number, then the key */
} arcp__pg_change;

typedef struct arcp__pg_plan {
    int64_t shard;
    arcp__pg_stream *by_key;
    arcp__pg_stream *by_use;
    arcp__pg_stream *touched;
    arcp__pg_stream *trims;
    int64_t newest_id; /* of a stream */
    arcp__pg_change *changes;
    arcp__arena arena; /* of the transaction */
    arcp__pg_calls calls;
    arcp__pg_array missing; /* keys */
    bool has_missing;
    bool is_careful;  /* look up streams that seem to be new, too */
    bool has_garbage; /* dropped streams have runs */
} arcp__pg_plan;

/* Reads the number of the newest stream. */
arcp__pg_trouble arcp__pg_plan_open(arcp__pg_plan *plan, arcp__pg *pg, arcp_error *err);
void arcp__pg_plan_fini(arcp__pg_plan *plan);

/* Notes the streams of a batch that have to be looked up; find does that. CORRUPT: the last run of
 * one is damaged. */
void arcp__pg_plan_miss(arcp__pg_plan *plan, const arcp__request *batch);
arcp__pg_trouble arcp__pg_plan_find(arcp__pg_plan *plan, arcp__pg *pg, arcp_error *err);

void arcp__pg_plan_begin(arcp__pg_plan *plan);
/* ARCP_E_CORRUPT: an append is not at its stream's next position. */
arcp_status arcp__pg_plan_batch(arcp__pg_plan *plan, const arcp__request *batch, arcp_error *err);
arcp_status arcp__pg_plan_finish(arcp__pg_plan *plan, int64_t now_ns, arcp_error *err);
/* False: the connection is lost, or memory has run out. */
bool arcp__pg_plan_send(arcp__pg_plan *plan, arcp__pg *pg);
void arcp__pg_plan_abandon(arcp__pg_plan *plan);
void arcp__pg_plan_forget_all(arcp__pg_plan *plan);

/* Whether a stream has waited for its trim for long enough. */
bool arcp__pg_plan_must_trim(const arcp__pg_plan *plan, int64_t now_ns);

#endif
