/* How many rows each table has, and the sum of their checksums: a row that is gone has no
 * checksum of its own that could be wrong. The table `sums` has a row for each table, and one
 * for `streams`, changed by the transaction that changes what it is about. */
#ifndef ARCP_STORE_SQLITE_SUMS_H
#define ARCP_STORE_SQLITE_SUMS_H

#include "store/sqlite_connection.h"

/* The tables by their numbers, then the streams. */
#define ARCP__SQLITE_SUM_STREAMS ((int)ARCP_STORE_TABLE_COUNT)
#define ARCP__SQLITE_SUM_COUNT   (ARCP__SQLITE_SUM_STREAMS + 1)

typedef struct arcp__sqlite_sum {
    int64_t count;
    int64_t sum;     /* of checksums, modulo 2^63 */
    int64_t changes; /* goes up with each */
} arcp__sqlite_sum;

/* The writer's. */
typedef struct arcp__sqlite_sums {
    arcp__sqlite_sum now[ARCP__SQLITE_SUM_COUNT];
    arcp__sqlite_sum stored[ARCP__SQLITE_SUM_COUNT];
} arcp__sqlite_sums;

/* "jobs", "streams"; static. */
const char *arcp__sqlite_sum_name(int which);

/* What the database says. ARCP_E_CORRUPT when it says nothing, or what is not its checksum's. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_sum_read(arcp__sqlite *sqlite, int which,
                                                  arcp__sqlite_sum *out, arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__sqlite_sums_load(arcp__sqlite *sqlite, arcp__sqlite_sums *out,
                                                   arcp_error *err);

void arcp__sqlite_sum_add(arcp__sqlite_sum *sum, int64_t crc);
void arcp__sqlite_sum_remove(arcp__sqlite_sum *sum, int64_t crc);
/* Whether both are of the same rows. */
bool arcp__sqlite_sum_is_same(const arcp__sqlite_sum *left, const arcp__sqlite_sum *right);
/* ARCP_E_CORRUPT: `found` is there, `want` was written. */
arcp_status arcp__sqlite_sum_error(const arcp__sqlite *sqlite, int which,
                                   const arcp__sqlite_sum *found, const arcp__sqlite_sum *want,
                                   arcp_error *err);

/* Writes what the transaction has changed; then committed, or after a rollback abandoned. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_sums_flush(arcp__sqlite *sqlite,
                                                    const arcp__sqlite_sums *sums, arcp_error *err);
void arcp__sqlite_sums_committed(arcp__sqlite_sums *sums);
void arcp__sqlite_sums_abandoned(arcp__sqlite_sums *sums);

#endif
