/* Rows of the tables, and for each table the number of rows and the sum of their checksums, by
 * which missing rows are detected. The table `sums` has a row for each table, and one for
 * `streams`, which are updated in the same transaction as the tables. */
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
    int64_t place;   /* rowid in `sums` */
} arcp__sqlite_sum;

void arcp__sqlite_sum_add(arcp__sqlite_sum *sum, int64_t crc);
void arcp__sqlite_sum_remove(arcp__sqlite_sum *sum, int64_t crc);
/* Reads a sum. ARCP_E_CORRUPT if its row is missing or does not match its checksum. */
arcp_status arcp__sqlite_sum_read(arcp__sqlite *sqlite, int which, arcp__sqlite_sum *out,
                                  arcp_error *err);
/* ARCP_E_CORRUPT unless the sum of the existing rows (`found`) is the stored one (`want`). */
arcp_status arcp__sqlite_sum_check(const arcp__sqlite *sqlite, int which,
                                   const arcp__sqlite_sum *found, const arcp__sqlite_sum *want,
                                   arcp_error *err);

/* Reads and checks the statement's current row of `table` (columns key, value and crc) and adds it
 * to `sum`. `out` is valid until the next step or reset. ARCP_E_CORRUPT. */
arcp_status arcp__sqlite_row_take(const arcp__sqlite *sqlite, arcp_store_table table,
                                  sqlite3_stmt *statement, arcp__sqlite_sum *sum,
                                  arcp_store_row *out, arcp_error *err);

/* The writer's view of the tables. */
typedef struct arcp__sqlite_tables {
    arcp__sqlite *sqlite; /* borrowed */
    arcp__sqlite_sum now[ARCP__SQLITE_SUM_COUNT];
    arcp__sqlite_sum stored[ARCP__SQLITE_SUM_COUNT];
    /* The current PUT or DELETE, and the state of the existing row, which arcp_may_change sets. */
    const arcp_store_op *op;
    bool exists, is_damaged;
    int64_t crc;
} arcp__sqlite_tables;

/* Reads the sums, and adds the SQL function arcp_may_change to the connection, which must be closed
 * before `tables` is released. */
arcp_status arcp__sqlite_tables_init(arcp__sqlite_tables *tables, arcp__sqlite *sqlite,
                                     arcp_error *err);
/* Applies a PUT or DELETE, and updates the sum of its table. ARCP_E_CORRUPT: the existing row is
 * damaged, and is neither replaced nor deleted. */
arcp_status arcp__sqlite_tables_apply(arcp__sqlite_tables *tables, const arcp_store_op *op,
                                      arcp_error *err);
/* Writes the sums that the transaction has changed. ARCP_E_CORRUPT if a row of `sums` is missing.
 * After COMMIT call committed, after a rollback abandoned. */
arcp_status arcp__sqlite_tables_flush(arcp__sqlite_tables *tables, arcp_error *err);
void arcp__sqlite_tables_committed(arcp__sqlite_tables *tables);
void arcp__sqlite_tables_abandoned(arcp__sqlite_tables *tables);

#endif
