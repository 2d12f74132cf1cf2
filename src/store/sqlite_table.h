/* Rows of the tables, and how many each table has with the sum of their checksums: a row that is
 * gone has no checksum of its own that could be wrong. The table `sums` has a row for each table,
 * and one for `streams`, changed by the transaction that changes what it is about. */
#ifndef ARCP_STORE_SQLITE_TABLE_H
#define ARCP_STORE_SQLITE_TABLE_H

#include "store/sqlite_connection.h"

/* The tables by their numbers, then the streams. */
#define ARCP__SQLITE_SUM_STREAMS ((int)ARCP_STORE_TABLE_COUNT)
#define ARCP__SQLITE_SUM_COUNT   (ARCP__SQLITE_SUM_STREAMS + 1)

typedef struct arcp__sqlite_sum {
    int64_t count;
    int64_t sum;     /* of checksums, modulo 2^63 */
    int64_t changes; /* goes up with each */
    int64_t place;   /* the row of `sums` that it was read from */
} arcp__sqlite_sum;

void arcp__sqlite_sum_add(arcp__sqlite_sum *sum, int64_t crc);
void arcp__sqlite_sum_remove(arcp__sqlite_sum *sum, int64_t crc);
/* What the database says. ARCP_E_CORRUPT when it says nothing, or what is not its checksum's. */
arcp_status arcp__sqlite_sum_read(arcp__sqlite *sqlite, int which, arcp__sqlite_sum *out,
                                  arcp_error *err);
/* ARCP_E_CORRUPT unless `found`, which is there, is of the same rows as `want`, which was
 * written. */
arcp_status arcp__sqlite_sum_check(const arcp__sqlite *sqlite, int which,
                                   const arcp__sqlite_sum *found, const arcp__sqlite_sum *want,
                                   arcp_error *err);

/* The row of `table` that a statement stands on (its columns key, value and crc), added to `sum`
 * and checked; valid until the next step or reset. ARCP_E_CORRUPT. */
arcp_status arcp__sqlite_row_take(const arcp__sqlite *sqlite, arcp_store_table table,
                                  sqlite3_stmt *statement, arcp__sqlite_sum *sum,
                                  arcp_store_row *out, arcp_error *err);

/* The writer's. */
typedef struct arcp__sqlite_tables {
    arcp__sqlite *sqlite; /* borrowed */
    arcp__sqlite_sum now[ARCP__SQLITE_SUM_COUNT];
    arcp__sqlite_sum stored[ARCP__SQLITE_SUM_COUNT];
    /* The PUT or DELETE at hand, and what it met: set by the statement itself, which reads the row
     * that it would change anyway. */
    const arcp_store_op *op;
    bool is_there, is_damaged;
    int64_t crc;
} arcp__sqlite_tables;

/* Reads the sums, and gives the connection the function that row statements call: `tables` outlives
 * the connection. */
arcp_status arcp__sqlite_tables_init(arcp__sqlite_tables *tables, arcp__sqlite *sqlite,
                                     arcp_error *err);
/* Applies an operation of a row, and counts it in the sum of its table. ARCP_E_CORRUPT when the row
 * that is there is damaged: it is neither replaced nor deleted. */
arcp_status arcp__sqlite_tables_apply(arcp__sqlite_tables *tables, const arcp_store_op *op,
                                      arcp_error *err);
/* Writes the sums that the transaction has changed; then committed, or after a rollback
 * abandoned. */
arcp_status arcp__sqlite_tables_flush(arcp__sqlite_tables *tables, arcp_error *err);
void arcp__sqlite_tables_committed(arcp__sqlite_tables *tables);
void arcp__sqlite_tables_abandoned(arcp__sqlite_tables *tables);

#endif
