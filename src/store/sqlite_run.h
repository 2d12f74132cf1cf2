/* Rows of the tables `streams` and `runs`; each function executes one statement or a few. */
#ifndef ARCP_STORE_SQLITE_RUN_H
#define ARCP_STORE_SQLITE_RUN_H

#include "store/sqlite_schema.h"
#include "store/sqlite_table.h"

/* A stream's end is written into its row when the log is restarted, and when the store is closed.
 * In between the stream is open: it may be longer than its row says, but not shorter. */
typedef struct arcp__sqlite_stream_row {
    int64_t id;    /* 0: there is no such stream */
    uint64_t next; /* position */
    bool is_open;
} arcp__sqlite_stream_row;

/* `out->id` is 0 if there is no such stream. An empty key finds a dropped stream. ARCP_E_CORRUPT.
 */
arcp_status arcp__sqlite_stream_find(arcp__sqlite *sqlite, arcp_span key,
                                     arcp__sqlite_stream_row *out, arcp_error *err);
/* Reads and checks the statement's current row: columns id, next, open and crc. ARCP_E_CORRUPT. */
arcp_status arcp__sqlite_stream_take(const arcp__sqlite *sqlite, sqlite3_stmt *statement,
                                     arcp_span key, arcp__sqlite_stream_row *out, arcp_error *err);
/* ARCP_E_CORRUPT if the end of the stream's runs contradicts its row. */
arcp_status arcp__sqlite_stream_check_end(const arcp__sqlite *sqlite, arcp_span key,
                                          const arcp__sqlite_stream_row *row, uint64_t end,
                                          arcp_error *err);
/* Allocates ids of streams in ascending order, and those that are free again after the greatest
 * one.
 */
typedef struct arcp__sqlite_ids {
    int64_t newest; /* allocated last */
    int64_t used;   /* no stream has an id between the two */
} arcp__sqlite_ids;
/* Adds an open and empty stream; the caller keeps `ids`. `out->id` is 0 if the key is already in
 * use. */
arcp_status arcp__sqlite_stream_insert(arcp__sqlite_tables *tables, arcp_span key,
                                       arcp__sqlite_ids *ids, arcp__sqlite_stream_row *out,
                                       arcp_error *err);
arcp_status arcp__sqlite_stream_update(arcp__sqlite *sqlite, const arcp__sqlite_stream_row *row,
                                       arcp_span key, arcp_error *err);
/* Drops the stream: its key can be used again, and its runs can be deleted piece by piece. */
arcp_status arcp__sqlite_stream_unname(arcp__sqlite_tables *tables, int64_t id, arcp_span key,
                                       arcp_error *err);
/* An empty key: it was dropped. */
arcp_status arcp__sqlite_stream_delete(arcp__sqlite_tables *tables, int64_t id, arcp_span key,
                                       arcp_error *err);
/* The positions of a run, [first, end); both 0: no such run. */
typedef struct arcp__sqlite_range {
    uint64_t first;
    uint64_t end;
} arcp__sqlite_range;

/* The stream's oldest run. Here and below `key` is used for messages. */
arcp_status arcp__sqlite_run_find_first(arcp__sqlite *sqlite, int64_t stream, arcp_span key,
                                        arcp__sqlite_range *out, arcp_error *err);
/* The newest run that begins at `position` or before it. */
arcp_status arcp__sqlite_run_find_last(arcp__sqlite *sqlite, int64_t stream, arcp_span key,
                                       uint64_t position, arcp__sqlite_range *out, arcp_error *err);
arcp_status arcp__sqlite_run_insert(arcp__sqlite *sqlite, int64_t stream, uint64_t first,
                                    size_t count, arcp_span data, arcp_error *err);
/* How much may be deleted; counted down. */
typedef struct arcp__sqlite_budget {
    size_t runs;
    uint64_t bytes;
} arcp__sqlite_budget;

/* Deletes runs that begin before the position `below`, oldest first and at least one, while the
 * budget lasts. *is_all: no such run is left. With a key the stream continues to exist: a run
 * without data (a mark) stands for its deleted positions, because a gap would be damage. With an
 * empty key the stream was dropped. */
arcp_status arcp__sqlite_run_delete(arcp__sqlite *sqlite, int64_t stream, uint64_t below,
                                    arcp_span key, arcp__sqlite_budget *budget, bool *is_all,
                                    arcp_error *err);

/* Reads and checks the current row of `runs`: columns id, count, bytes and crc. ARCP_E_CORRUPT. */
arcp_status arcp__sqlite_run_range(const arcp__sqlite *sqlite, sqlite3_stmt *statement,
                                   arcp_span key, arcp__sqlite_range *out, arcp_error *err);
/* The same including the column data. */
arcp_status arcp__sqlite_run_take(const arcp__sqlite *sqlite, sqlite3_stmt *statement,
                                  arcp_span key, arcp__sqlite_range *out, arcp_span *data,
                                  arcp_error *err);
/* Whether the row stands for trimmed records. */
bool arcp__sqlite_run_is_mark(sqlite3_stmt *statement);
/* Sets ARCP_E_CORRUPT; `what` is the predicate of the message ("does not follow the run before
 * it").
 */
arcp_status arcp__sqlite_run_error(const arcp__sqlite *sqlite, arcp_span key, uint64_t position,
                                   const char *what, arcp_error *err);

#endif
