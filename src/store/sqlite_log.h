/* The write-ahead log, looked at before SQLite opens it. */
#ifndef ARCP_STORE_SQLITE_LOG_H
#define ARCP_STORE_SQLITE_LOG_H

#include <arcp/error.h>

/* Reads the log of the database at `path` (absolute, without links). ARCP_E_CORRUPT when commits
 * that were on the disk would not be found, with the offset of what hides them; ARCP_E_IO,
 * ARCP_E_NO_MEMORY. No log, and one whose end is torn, are ARCP_OK. Nothing is changed, and nothing
 * is done when `err` has a failure. */
arcp_status arcp__sqlite_log_check(const char *path, arcp_error *err);

#endif
