/* The writer's view of streams: their next positions, and the runs of the current transaction.
 *
 * All appends to a stream in one transaction become one row of up to 64 KiB, whatever batches they
 * came from. So replay reads few rows, and a busy stream costs little per record. A stream's next
 * position is read from the database when it is first needed, and cached for the recently used
 * streams.
 *
 * Order of calls between BEGIN and COMMIT: apply for each operation, then finish. After COMMIT:
 * committed; after a rollback: abandoned. */
#ifndef ARCP_STORE_SQLITE_STREAM_H
#define ARCP_STORE_SQLITE_STREAM_H

#include <arcp/buf.h>

#include "base/arena.h"
#include "base/hash.h"
#include "store/sqlite_run.h"
#include "store/sqlite_table.h"

#define ARCP__SQLITE_STREAMS_KEPT_MAX 16384u /* cached streams */
#define ARCP__SQLITE_COLLECT_PAUSE    1000u  /* transactions without deletion after it failed */
#define ARCP__SQLITE_SHRINK_RUNS      256u   /* deleted runs until free pages are counted again */

/* A record of the transaction that is not in a row yet. */
typedef struct arcp__sqlite_append {
    arcp_span record;
    struct arcp__sqlite_append *next; /* of the same run */
} arcp__sqlite_append;

/* Records that will become one row. */
typedef struct arcp__sqlite_open_run {
    arcp__sqlite_append *first, *last;
    size_t count;
    size_t bytes; /* with a line feed per record */
} arcp__sqlite_open_run;

typedef struct arcp__sqlite_stream {
    UT_hash_handle hh;
    struct arcp__sqlite_stream *prev, *next_used; /* by last use, oldest first */
    struct arcp__sqlite_stream *next_touched;
    struct arcp__sqlite_stream *trim_prev, *trim_next;
    struct arcp__sqlite_stream *open_prev, *open_next;
    int64_t id;          /* 0: not in the database */
    uint64_t written;    /* the end according to its row */
    uint64_t next;       /* next position, including this transaction's appends */
    uint64_t oldest_end; /* position after the oldest run; 0: not known */
    uint64_t trim;       /* records before this position may be deleted */
    bool is_touched;     /* by this transaction */
    bool is_trimming;    /* in the list `trims` */
    bool is_open;        /* according to its row; in the list `open` */
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
    bool has_dropped;  /* there may be dropped streams to delete */
    bool has_unlisted; /* there may be open streams that are not in `open` */
    unsigned collect_pause;
    size_t runs_deleted; /* since free pages were counted last */
} arcp__sqlite_streams;

/* Reads the row of every stream. ARCP_E_CORRUPT if one is damaged or missing. */
arcp_status arcp__sqlite_streams_init(arcp__sqlite_streams *streams, arcp__sqlite *sqlite,
                                      arcp__sqlite_tables *tables, arcp_error *err);
void arcp__sqlite_streams_fini(arcp__sqlite_streams *streams);

/* Applies an APPEND, TRIM or DROP. ARCP_E_CORRUPT: an APPEND is not at the stream's next position.
 */
arcp_status arcp__sqlite_streams_apply(arcp__sqlite_streams *streams, const arcp_store_op *op,
                                       arcp_error *err);
/* Writes the remaining runs. Then deletes some trimmed and dropped runs: only a part, so that a
 * long stream does not delay the commit, and at least as much as the transaction has added. If that
 * fails, has_garbage returns false for a while. */
arcp_status arcp__sqlite_streams_finish(arcp__sqlite_streams *streams, arcp_error *err);
bool arcp__sqlite_streams_has_garbage(const arcp__sqlite_streams *streams);

void arcp__sqlite_streams_committed(arcp__sqlite_streams *streams);
/* Removes the streams that the transaction touched from the cache. */
void arcp__sqlite_streams_abandoned(arcp__sqlite_streams *streams);

/* Closes all open streams and sums, in a transaction of its own: writes the ends of the streams
 * into their rows, so that a missing last run can be detected, and the sums into theirs. A stream
 * may be open only while its newest runs are in the log, which has checksums; therefore this is
 * called before the log is restarted, at the end, and at the start after a crash. */
arcp_status arcp__sqlite_streams_close_all(arcp__sqlite_streams *streams, arcp_error *err);

#endif
