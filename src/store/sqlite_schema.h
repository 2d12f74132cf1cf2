/* What the database looks like, and how older ones become like it.
 *
 * PRAGMA user_version is the schema's version. Version N is reached from N-1 by one step
 * of a list that only ever grows. docs/store.md describes the tables to people. */
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
ARCP_MUST_CHECK arcp_status arcp__sqlite_schema_open(arcp__sqlite *sqlite, arcp_error *err);

/* The part that tests call with steps of their own: steps[i] leads from version i to i+1,
 * each in a transaction; what fails leaves the last version that worked. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_schema_migrate(arcp__sqlite *sqlite,
                                                        const char *const *steps, size_t count,
                                                        arcp_error *err);

#endif
