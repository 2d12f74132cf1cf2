/* Writing rows of the tables. */
#ifndef ARCP_STORE_SQLITE_ROW_H
#define ARCP_STORE_SQLITE_ROW_H

#include "store/sqlite_sums.h"

/* What a PUT or DELETE met: set by the statement itself, which reads the row that it would change
 * anyway. */
typedef struct arcp__sqlite_met_row {
    const arcp_store_op *op;
    bool is_there, is_damaged;
    int64_t crc;
} arcp__sqlite_met_row;

/* Gives the connection the function that row statements call; `met` belongs to the caller and
 * outlives the connection. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_row_open(arcp__sqlite *sqlite, arcp__sqlite_met_row *met,
                                                  arcp_error *err);
/* Applies an operation of a row, and counts it in the sum of its table. ARCP_E_CORRUPT when the row
 * that is there is damaged: it is neither replaced nor deleted. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_row_write(arcp__sqlite *sqlite, arcp__sqlite_met_row *met,
                                                   arcp__sqlite_sums *sums, const arcp_store_op *op,
                                                   arcp_error *err);

#endif
