/* Rows of the tables, and the sums by which missing rows are detected: for each table, and for the
 * streams, the number of rows and the sum of their checksums.
 *
 * A new row, or one that replaces another, carries the sum of its table after this change, so that
 * most transactions write no row but those that were asked for. The table `sums` has a row for each
 * table, which is written when a sum changes without a new row, and whenever all sums are closed:
 *
 *   closed   the row in `sums` is the sum
 *   open     of the row in `sums` and those that rows carry, the one with the most changes is
 *
 * A sum may be open only while the rows that were changed since are in the log, which has
 * checksums: the loss of the row with the newest sum would not be detected otherwise. */
#ifndef ARCP_STORE_SQLITE_TABLE_H
#define ARCP_STORE_SQLITE_TABLE_H

#include "store/sqlite_connection.h"

/* The indexes of sums: the tables by their numbers, then the streams. */
#define ARCP__SQLITE_SUM_STREAMS ((int)ARCP_STORE_TABLE_COUNT)
#define ARCP__SQLITE_SUM_COUNT   (ARCP__SQLITE_SUM_STREAMS + 1)

typedef struct arcp__sqlite_sum {
    int64_t count;
    int64_t sum;     /* of checksums, modulo 2^63 */
    int64_t changes; /* incremented by each change */
} arcp__sqlite_sum;

/* A row of `sums`, and what the writer has to know besides. */
typedef struct arcp__sqlite_sum_state {
    arcp__sqlite_sum sum;
    bool is_open;
    int64_t carried; /* changes of the newest sum that a row carries */
} arcp__sqlite_sum_state;

/* Reads a row of `sums`. ARCP_E_CORRUPT if it is missing or does not match its checksum. */
arcp_status arcp__sqlite_sum_read(arcp__sqlite *sqlite, int which, arcp__sqlite_sum_state *out,
                                  arcp_error *err);

/* What was found by reading all rows of a table; begins as zero. */
typedef struct arcp__sqlite_tally {
    arcp__sqlite_sum found;  /* its member `changes` is not used */
    arcp__sqlite_sum newest; /* that a row carries */
} arcp__sqlite_tally;

/* Adds the statement's current row, whose columns from `column` on are count, sum and changes. */
void arcp__sqlite_tally_add(arcp__sqlite_tally *tally, int64_t crc, sqlite3_stmt *statement,
                            int column);
/* ARCP_E_CORRUPT unless the existing rows have the sum that was written; `state` is the row in
 * `sums`. */
arcp_status arcp__sqlite_tally_check(const arcp__sqlite *sqlite, int which,
                                     const arcp__sqlite_tally *tally,
                                     const arcp__sqlite_sum_state *state, arcp_error *err);

/* Reads and checks the statement's current row of `table` (columns key, value, crc, count, sum and
 * changes) and adds it to `tally`. `out` is valid until the next step or reset. ARCP_E_CORRUPT. */
arcp_status arcp__sqlite_row_take(const arcp__sqlite *sqlite, arcp_store_table table,
                                  sqlite3_stmt *statement, arcp__sqlite_tally *tally,
                                  arcp_store_row *out, arcp_error *err);

/* The writer's view of the tables. */
typedef struct arcp__sqlite_tables {
    arcp__sqlite *sqlite; /* borrowed */
    arcp__sqlite_sum_state now[ARCP__SQLITE_SUM_COUNT];
    arcp__sqlite_sum_state committed[ARCP__SQLITE_SUM_COUNT];
    /* The current PUT or DELETE, and the state of the existing row, which arcp_may_change sets. */
    const arcp_store_op *op;
    bool exists, is_damaged;
    int64_t crc;
} arcp__sqlite_tables;

/* Reads the sums of the tables, and adds the SQL function arcp_may_change to the connection, which
 * must be closed before `tables` is released. That of the streams is only what `sums` has. */
arcp_status arcp__sqlite_tables_init(arcp__sqlite_tables *tables, arcp__sqlite *sqlite,
                                     arcp_error *err);
/* A row carries this sum: it is the present one if it is newer than what was read. */
void arcp__sqlite_tables_found(arcp__sqlite_tables *tables, int which,
                               const arcp__sqlite_sum *newest);
/* Applies a PUT or DELETE. ARCP_E_CORRUPT: the existing row is damaged, and is neither replaced nor
 * deleted. */
arcp_status arcp__sqlite_tables_apply(arcp__sqlite_tables *tables, const arcp_store_op *op,
                                      arcp_error *err);

/* The sum after one more row, bound to the parameters count, sum and changes of the statement that
 * adds the row. */
arcp__sqlite_sum arcp__sqlite_tables_bind_next(const arcp__sqlite_tables *tables, int which,
                                               int64_t crc, sqlite3_stmt *statement, int index);
/* A row was added that carries the sum `after`, or one was removed. */
void arcp__sqlite_tables_added(arcp__sqlite_tables *tables, int which,
                               const arcp__sqlite_sum *after);
void arcp__sqlite_tables_removed(arcp__sqlite_tables *tables, int which, int64_t crc);
/* A row was replaced by one that carries no sum. */
void arcp__sqlite_tables_replaced(arcp__sqlite_tables *tables, int which, int64_t old, int64_t crc);

/* Writes the sums that the transaction has changed and that no row carries, or with `closes` closes
 * all. ARCP_E_CORRUPT if a row of `sums` is missing. After COMMIT call committed, after a rollback
 * abandoned. */
arcp_status arcp__sqlite_tables_flush(arcp__sqlite_tables *tables, bool closes, arcp_error *err);
bool arcp__sqlite_tables_are_open(const arcp__sqlite_tables *tables);
void arcp__sqlite_tables_committed(arcp__sqlite_tables *tables);
void arcp__sqlite_tables_abandoned(arcp__sqlite_tables *tables);

#endif
