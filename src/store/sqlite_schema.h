/* The schema of the database, and its migration.
 *
 * PRAGMA user_version is the schema's version. An empty database gets the newest schema at once; an
 * older one is migrated step by step, by a list to which steps are only ever appended.
 * docs/store.md describes the tables. */
#ifndef ARCP_STORE_SQLITE_SCHEMA_H
#define ARCP_STORE_SQLITE_SCHEMA_H

#include "store/sqlite_connection.h"

/* "ARCP", in the header of our databases (file(1) shows it). */
#define ARCP__SQLITE_APPLICATION_ID 0x41524350

#define ARCP__SQLITE_SCHEMA_VERSION 3

/* A run's id consists of its stream's id and the position of its first record. */
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

/* Creates the schema in an empty database, or migrates an older one. ARCP_E_USAGE: the database of
 * another program or a newer version, which is left unchanged. */
arcp_status arcp__sqlite_schema_open(arcp__sqlite *sqlite, arcp_error *err);

/* Compares the definitions of all tables with the schema. ARCP_E_CORRUPT. */
arcp_status arcp__sqlite_schema_check(arcp__sqlite *sqlite, arcp_error *err);

/* Computes all sums again, from rows whose checksums were verified. The functions of sqlite_crc.h
 * must have been added. */
arcp_status arcp__sqlite_schema_seal_sums(arcp__sqlite *sqlite, arcp_error *err);

/* A step migrates from the previous version; steps to the same version form one transaction. */
typedef struct arcp__sqlite_step {
    size_t version;
    const char *sql;
} arcp__sqlite_step;

/* Executes the steps (at least one, in ascending order), each version in a transaction; on failure
 * the database keeps the last version that succeeded. Called directly by tests. */
arcp_status arcp__sqlite_schema_migrate(arcp__sqlite *sqlite, const arcp__sqlite_step *list,
                                        size_t count, arcp_error *err);

#endif
