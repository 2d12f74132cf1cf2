/* The writer's view of streams: what is next in each, and the runs of one transaction.
 *
 * A run of appends to one stream becomes one row, however many batches of the transaction
 * it came from, up to 64 KiB: replay then reads few rows, and a busy stream costs little
 * per record. A stream's next position is learnt from the database when it is first
 * needed and remembered for the streams used last.
 *
 * Order of calls, all between BEGIN and COMMIT: apply for each operation, then finish; then
 * committed, or after a rollback abandoned. */
#ifndef ARCP_STORE_SQLITE_STREAM_H
#define ARCP_STORE_SQLITE_STREAM_H

#include <arcp/buf.h>

#include "base/arena.h"
#include "base/hash.h"
#include "store/sqlite_run.h"
#include "store/sqlite_table.h"

#define ARCP__SQLITE_STREAMS_KEPT_MAX 16384u /* streams that are remembered */
#define ARCP__SQLITE_COLLECT_PAUSE    1000u  /* transactions without, after it failed */
#define ARCP__SQLITE_SHRINK_RUNS      256u   /* deleted ones, until free pages are looked for */

/* A record of the transaction that is not in a row yet. */
typedef struct arcp__sqlite_append {
    arcp_span record;
    struct arcp__sqlite_append *next; /* of the same run */
} arcp__sqlite_append;

/* Records that will be one row. */
typedef struct arcp__sqlite_open_run {
    arcp__sqlite_append *first, *last;
    size_t count;
    size_t bytes; /* with a line feed per record */
} arcp__sqlite_open_run;

typedef struct arcp__sqlite_stream {
    UT_hash_handle hh;
    struct arcp__sqlite_stream *prev, *next_used; /* by last use, the oldest first */
    struct arcp__sqlite_stream *next_touched;
    struct arcp__sqlite_stream *trim_prev, *trim_next;
    struct arcp__sqlite_stream *open_prev, *open_next;
    int64_t id;          /* 0: not in the database */
    uint64_t written;    /* the end that its row says */
    uint64_t next;       /* position, this transaction's appends included */
    uint64_t oldest_end; /* position after the oldest run; 0: not known */
    uint64_t trim;       /* below it records may be forgotten */
    bool is_touched;     /* by this transaction */
    bool is_trimming;    /* listed in `trims` */
    bool is_open;        /* its row says so; listed in `open` */
    arcp__sqlite_open_run run;
    size_t key_size;
    char key[];
} arcp__sqlite_stream;

typedef struct arcp__sqlite_streams {
    arcp__sqlite *sqlite;        /* borrowed */
    arcp__sqlite_tables *tables; /* borrowed; has the sum of the streams */
    arcp__sqlite_stream *by_key;
    arcp__sqlite_stream *by_use;
    arcp__sqlite_stream *recent; /* of the last operation */
    arcp__sqlite_stream *touched;
    arcp__sqlite_stream *trims;
    arcp__sqlite_stream *open;
    arcp__arena appends; /* of the transaction */
    arcp_buf joined;     /* one run's records */
    arcp__sqlite_ids ids;
    size_t runs_inserted; /* by this transaction */
    uint64_t bytes_inserted;
    bool has_dropped;  /* perhaps there are dropped streams to delete */
    bool has_unlisted; /* perhaps there are open streams that are not listed in `open` */
    unsigned collect_pause;
    size_t runs_deleted; /* since free pages were counted last */
} arcp__sqlite_streams;

/* Reads the row of every stream. ARCP_E_CORRUPT when one is damaged, or missing. */
arcp_status arcp__sqlite_streams_init(arcp__sqlite_streams *streams, arcp__sqlite *sqlite,
                                      arcp__sqlite_tables *tables, arcp_error *err);
void arcp__sqlite_streams_fini(arcp__sqlite_streams *streams);

/* An APPEND, TRIM or DROP. ARCP_E_CORRUPT for an APPEND that is not at the stream's next position.
 */
arcp_status arcp__sqlite_streams_apply(arcp__sqlite_streams *streams, const arcp_store_op *op,
                                       arcp_error *err);
/* Writes the runs that are still open. Then deletes some of what was trimmed and dropped: a piece
 * at a time, so that a long stream does not hold up a commit, and at least as much as the
 * transaction added. When that fails, has_garbage says no for a while. */
arcp_status arcp__sqlite_streams_finish(arcp__sqlite_streams *streams, arcp_error *err);
bool arcp__sqlite_streams_has_garbage(const arcp__sqlite_streams *streams);

void arcp__sqlite_streams_committed(arcp__sqlite_streams *streams);
/* Forgets the streams that the transaction touched; they are learnt again. */
void arcp__sqlite_streams_abandoned(arcp__sqlite_streams *streams);

/* Writes where the open streams end, in a transaction of its own, so that a loss of what comes
 * last in one shows. Streams are open as long as their newest runs are in the log, which has
 * checksums: before the log starts over, and at the end, they are closed. */
arcp_status arcp__sqlite_streams_close_all(arcp__sqlite_streams *streams, arcp_error *err);

#endif
