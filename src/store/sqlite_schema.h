/* What the database looks like, and how older ones become like it.
 *
 * PRAGMA user_version is the schema's version. An empty database gets the newest one at once;
 * an older one becomes like it step by step, from a list that only ever grows. docs/store.md
 * describes the tables to people. */
#ifndef ARCP_STORE_SQLITE_SCHEMA_H
#define ARCP_STORE_SQLITE_SCHEMA_H

#include "store/sqlite_connection.h"

/* "ARCP", in the header of our databases (file(1) shows it). */
#define ARCP__SQLITE_APPLICATION_ID 0x41524350

/* A run's id is its stream's id and the position of its first record. */
#define ARCP__SQLITE_POSITION_BITS 38
#define ARCP__SQLITE_STREAM_MAX    ((INT64_C(1) << 25) - 1)

static inline int64_t arcp__sqlite_run_id(int64_t stream, uint64_t position)
{
    return (int64_t)((uint64_t)stream << ARCP__SQLITE_POSITION_BITS | position);
}

static inline uint64_t arcp__sqlite_run_position(int64_t run_id)
{
    return (uint64_t)run_id & ARCP_STORE_POSITION_MAX;
}

/* Creates the schema in an empty database, or brings an older one up to date. ARCP_E_USAGE
 * for another program's database or a newer version's; it is then untouched. */
arcp_status arcp__sqlite_schema_open(arcp__sqlite *sqlite, arcp_error *err);

/* Whether what the schema says of each table is what it said when it was made. ARCP_E_CORRUPT. */
arcp_status arcp__sqlite_schema_check(arcp__sqlite *sqlite, arcp_error *err);

/* Computes the sums anew, for rows whose checksums were compared. The functions of sqlite_crc.h
 * must have been added. */
arcp_status arcp__sqlite_schema_seal_sums(arcp__sqlite *sqlite, arcp_error *err);

/* A step leads to its version from the one before; steps to the same version are one. */
typedef struct arcp__sqlite_step {
    size_t version;
    const char *sql;
} arcp__sqlite_step;

/* The part that tests call with steps of their own (at least one, ascending): each in a
 * transaction; what fails leaves the last version that worked. */
arcp_status arcp__sqlite_schema_migrate(arcp__sqlite *sqlite, const arcp__sqlite_step *list,
                                        size_t count, arcp_error *err);

#endif
