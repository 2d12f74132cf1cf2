/* Checks the write-ahead log before SQLite opens it. */
#ifndef ARCP_STORE_SQLITE_LOG_H
#define ARCP_STORE_SQLITE_LOG_H

#include <arcp/error.h>

/* Reads the log of the database at `path` (absolute, without links). ARCP_E_CORRUPT: SQLite would
 * not find commits that are on disk; the message has the offset of the damage that hides them.
 * ARCP_E_IO, ARCP_E_NO_MEMORY. A missing log and one with a torn end are ARCP_OK. Nothing is
 * changed. */
arcp_status arcp__sqlite_log_check(const char *path, arcp_error *err);

#endif
