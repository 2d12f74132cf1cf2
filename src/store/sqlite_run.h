/* The rows of the tables `streams` and `runs`, one statement at a time. */
#ifndef ARCP_STORE_SQLITE_RUN_H
#define ARCP_STORE_SQLITE_RUN_H

#include "store/sqlite_connection.h"
#include "store/sqlite_schema.h"

/* `out` becomes the stream's id, 0 when there is no such stream. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_stream_find(arcp__sqlite *sqlite, arcp_span key,
                                                     int64_t *out, arcp_error *err);
/* Ids of streams, given in order; above the greatest one that was there none is taken. */
typedef struct arcp__sqlite_ids {
    int64_t newest;    /* given to a stream; 0: not known yet */
    bool have_wrapped; /* all were given: each has to be looked for */
} arcp__sqlite_ids;
/* Adds a stream; `ids` is kept by the caller. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_stream_insert(arcp__sqlite *sqlite, arcp_span key,
                                                       arcp__sqlite_ids *ids, int64_t *out,
                                                       arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__sqlite_stream_delete(arcp__sqlite *sqlite, int64_t stream,
                                                       arcp_error *err);
/* Takes the key away, so that the name is free and the runs can go bit by bit. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_stream_unname(arcp__sqlite *sqlite, int64_t stream,
                                                       arcp_error *err);
/* One stream without a key; 0 when there is none. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_stream_find_unnamed(arcp__sqlite *sqlite, int64_t *out,
                                                             arcp_error *err);

/* Positions [first, end); both 0: no such run. */
typedef struct arcp__sqlite_range {
    uint64_t first;
    uint64_t end;
} arcp__sqlite_range;

/* The stream's oldest run. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_run_find_first(arcp__sqlite *sqlite, int64_t stream,
                                                        arcp__sqlite_range *out, arcp_error *err);
/* The newest run that begins at `position` or before it. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_run_find_last(arcp__sqlite *sqlite, int64_t stream,
                                                       uint64_t position, arcp__sqlite_range *out,
                                                       arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__sqlite_run_insert(arcp__sqlite *sqlite, int64_t stream,
                                                    uint64_t first, size_t count, arcp_span data,
                                                    arcp_error *err);
/* What may be deleted in one go; counted down. */
typedef struct arcp__sqlite_budget {
    size_t runs;
    uint64_t bytes;
} arcp__sqlite_budget;

/* Deletes runs that begin below `below`, the oldest first, as long as the budget lasts (at
 * least one). `is_all` says whether none is left there. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_run_delete(arcp__sqlite *sqlite, int64_t stream,
                                                    uint64_t below, arcp__sqlite_budget *budget,
                                                    bool *is_all, arcp_error *err);

/* What a row of `runs` says, checked. ARCP_E_CORRUPT. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_run_range(const arcp__sqlite *sqlite,
                                                   sqlite3_stmt *statement, arcp__sqlite_range *out,
                                                   arcp_error *err);

#endif
