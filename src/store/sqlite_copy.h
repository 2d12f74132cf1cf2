/* Backup and restore. */
#ifndef ARCP_STORE_SQLITE_COPY_H
#define ARCP_STORE_SQLITE_COPY_H

#include <arcp/sys/store.h>

#include "store/sqlite_check.h"

/* Copies a snapshot of the store at `path`, which a process may be writing to, to a new file `to`
 * (0600). The file gets its name only when it is complete and synced and all its checksums were
 * verified. ARCP_E_EXISTS: `to` exists; ARCP_E_CORRUPT: the store is damaged; ARCP_E_USAGE,
 * ARCP_E_IO, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_backup(const char *path, const char *to,
                                                arcp__sqlite_found *out, arcp_error *err);

typedef struct arcp__sqlite_restore_options {
    const char *from;
    const char *path;
    arcp_store_table without;   /* a table that is emptied */
    const char *without_prefix; /* streams whose keys have this prefix are omitted */
} arcp__sqlite_restore_options;

/* Replaces the store at `path` by a backup, atomically; the old one is kept as PATH.replaced.
 * ARCP_E_EXISTS: a process has the store open, there is a log beside it, or PATH.replaced exists.
 * ARCP_E_CORRUPT: the backup is damaged. Other errors as for arcp__sqlite_backup. On failure the
 * store is unchanged. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_restore(const arcp__sqlite_restore_options *options,
                                                 arcp__sqlite_found *out, arcp_error *err);

#endif
