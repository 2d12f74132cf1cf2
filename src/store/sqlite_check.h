/* Checks a whole store that no process has open. */
#ifndef ARCP_STORE_SQLITE_CHECK_H
#define ARCP_STORE_SQLITE_CHECK_H

#include <stdint.h>

#include <arcp/error.h>

/* Reports one damaged item as a line without a line feed, which is valid during the call. */
typedef void (*arcp__sqlite_damage_fn)(void *user, const char *line);

/* How much was checked. */
typedef struct arcp__sqlite_found {
    uint64_t rows;
    uint64_t streams;
    uint64_t runs;
    uint64_t bytes;   /* of all records */
    uint64_t damages; /* reported */
} arcp__sqlite_found;

/* Reads everything and reports mismatches: SQLite's structure, definitions, rows, sums, streams and
 * runs. Content is not changed. Returns ARCP_OK even if there is damage. ARCP_E_EXISTS: a process
 * has the store open. ARCP_E_USAGE: it is not a store, or of a version without checksums, or of a
 * newer version. ARCP_E_IO, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_check(const char *path, arcp__sqlite_damage_fn report,
                                               void *user, arcp__sqlite_found *out,
                                               arcp_error *err);

#endif
