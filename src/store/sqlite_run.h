/* The rows of the tables `streams` and `runs`, one statement at a time. */
#ifndef ARCP_STORE_SQLITE_RUN_H
#define ARCP_STORE_SQLITE_RUN_H

#include "store/sqlite_connection.h"
#include "store/sqlite_schema.h"

/* A stream's end is written into its row when the log starts over, and when the store is closed;
 * between these the stream is open: it may have more than its row says, and nothing less. */
typedef struct arcp__sqlite_stream_row {
    int64_t id;    /* 0: there is no such stream */
    uint64_t next; /* position */
    bool is_open;
} arcp__sqlite_stream_row;

/* `out->id` is 0 when there is no such stream. With an empty key: one that was dropped.
 * ARCP_E_CORRUPT. */
arcp_status arcp__sqlite_stream_find(arcp__sqlite *sqlite, arcp_span key,
                                     arcp__sqlite_stream_row *out, arcp_error *err);
/* The row that a statement stands on, checked: its columns id, next, open and crc. ARCP_E_CORRUPT.
 */
arcp_status arcp__sqlite_stream_take(const arcp__sqlite *sqlite, sqlite3_stmt *statement,
                                     arcp_span key, arcp__sqlite_stream_row *out, arcp_error *err);
/* ARCP_E_CORRUPT unless a stream that was written as `row` says can end at `end`. */
arcp_status arcp__sqlite_stream_check_end(const arcp__sqlite *sqlite, arcp_span key,
                                          const arcp__sqlite_stream_row *row, uint64_t end,
                                          arcp_error *err);
/* Ids of streams, given in order; above the greatest one that was there none is taken. */
typedef struct arcp__sqlite_ids {
    int64_t newest;    /* given to a stream; 0: not known yet */
    bool have_wrapped; /* all were given: each has to be looked for */
} arcp__sqlite_ids;
/* Adds a stream, open and empty; `ids` is kept by the caller. `out->id` is 0 when one of that name
 * is there. */
arcp_status arcp__sqlite_stream_insert(arcp__sqlite *sqlite, arcp_span key, arcp__sqlite_ids *ids,
                                       arcp__sqlite_stream_row *out, arcp_error *err);
/* With an empty key the stream loses its name: the name is free, and the runs can go bit by bit. */
arcp_status arcp__sqlite_stream_update(arcp__sqlite *sqlite, const arcp__sqlite_stream_row *row,
                                       arcp_span key, arcp_error *err);
arcp_status arcp__sqlite_stream_delete(arcp__sqlite *sqlite, int64_t stream, arcp_error *err);
/* Positions [first, end); both 0: no such run. */
typedef struct arcp__sqlite_range {
    uint64_t first;
    uint64_t end;
} arcp__sqlite_range;

/* The stream's oldest run. `key` is for messages, here and below. */
arcp_status arcp__sqlite_run_find_first(arcp__sqlite *sqlite, int64_t stream, arcp_span key,
                                        arcp__sqlite_range *out, arcp_error *err);
/* The newest run that begins at `position` or before it. */
arcp_status arcp__sqlite_run_find_last(arcp__sqlite *sqlite, int64_t stream, arcp_span key,
                                       uint64_t position, arcp__sqlite_range *out, arcp_error *err);
arcp_status arcp__sqlite_run_insert(arcp__sqlite *sqlite, int64_t stream, uint64_t first,
                                    size_t count, arcp_span data, arcp_error *err);
/* What may be deleted in one go; counted down. */
typedef struct arcp__sqlite_budget {
    size_t runs;
    uint64_t bytes;
} arcp__sqlite_budget;

/* Deletes runs that begin below `below`, the oldest first, as long as the budget lasts (at
 * least one). `is_all` says whether none is left there. With the stream's `key` it
 * goes on: positions from 0 on that are gone are kept as a run without data, so that it has no
 * gap (one is damage). With an empty key it was dropped. */
arcp_status arcp__sqlite_run_delete(arcp__sqlite *sqlite, int64_t stream, uint64_t below,
                                    arcp_span key, arcp__sqlite_budget *budget, bool *is_all,
                                    arcp_error *err);

/* What a row of `runs` says: its columns id, count, bytes and crc, checked. ARCP_E_CORRUPT. */
arcp_status arcp__sqlite_run_range(const arcp__sqlite *sqlite, sqlite3_stmt *statement,
                                   arcp_span key, arcp__sqlite_range *out, arcp_error *err);
/* The same with the column data, checked, too. */
arcp_status arcp__sqlite_run_take(const arcp__sqlite *sqlite, sqlite3_stmt *statement,
                                  arcp_span key, arcp__sqlite_range *out, arcp_span *data,
                                  arcp_error *err);
/* Whether the row stands for what was forgotten. */
bool arcp__sqlite_run_is_mark(sqlite3_stmt *statement);
/* ARCP_E_CORRUPT: `what` says the rest ("does not follow the one before it"). */
arcp_status arcp__sqlite_run_error(const arcp__sqlite *sqlite, arcp_span key, uint64_t position,
                                   const char *what, arcp_error *err);

#endif
