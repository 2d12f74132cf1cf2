/* A check of a whole store that no process has open. */
#ifndef ARCP_STORE_SQLITE_CHECK_H
#define ARCP_STORE_SQLITE_CHECK_H

#include <stdint.h>

#include <arcp/error.h>

/* One thing that is wrong, a line without its end; `line` is valid during the call. */
typedef void (*arcp__sqlite_damage_fn)(void *user, const char *line);

/* What was looked at, for those who want to know that something was. */
typedef struct arcp__sqlite_found {
    uint64_t rows;
    uint64_t streams;
    uint64_t runs;
    uint64_t bytes;   /* of all records */
    uint64_t damages; /* told */
} arcp__sqlite_found;

/* Reads everything and tells what does not match: SQLite's structure, definitions, rows, sums,
 * streams and runs. Content is not changed. ARCP_OK also when there is damage. ARCP_E_EXISTS while
 * a process has the store, ARCP_E_USAGE when it is no store of ours or of a version without
 * checksums or a newer one, ARCP_E_IO, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_check(const char *path, arcp__sqlite_damage_fn tell,
                                               void *user, arcp__sqlite_found *out,
                                               arcp_error *err);

#endif
