/* Backups of a store, and a store made of one. */
#ifndef ARCP_STORE_SQLITE_COPY_H
#define ARCP_STORE_SQLITE_COPY_H

#include <arcp/sys/store.h>

#include "store/sqlite_check.h"

/* Copies the store at `path`, also while a process writes to it, as it is at one moment, into a
 * new file `to` (0600), which is there under its name when it is whole, synced, and every checksum
 * in it was compared. ARCP_E_EXISTS: `to` is there; ARCP_E_CORRUPT: the store is damaged;
 * ARCP_E_USAGE, ARCP_E_IO, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_backup(const char *path, const char *to,
                                                arcp__sqlite_found *out, arcp_error *err);

typedef struct arcp__sqlite_restore_options {
    const char *from;
    const char *path;
    arcp_store_table without;   /* a table that becomes empty */
    const char *without_prefix; /* streams whose keys begin like this are left out */
} arcp__sqlite_restore_options;

/* Makes the store at `path` of a backup. What was there before gets the name PATH.replaced, at the
 * same instant at which the new one takes its place. ARCP_E_EXISTS: a process has the store, there
 * is a log beside it, or PATH.replaced is there. ARCP_E_CORRUPT: the backup is damaged; and as for
 * arcp__sqlite_backup. On failure the store is what it was. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_restore(const arcp__sqlite_restore_options *options,
                                                 arcp__sqlite_found *out, arcp_error *err);

#endif
