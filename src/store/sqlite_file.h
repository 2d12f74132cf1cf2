/* The database file: made when missing, and owned by one process at a time. */
#ifndef ARCP_STORE_SQLITE_FILE_H
#define ARCP_STORE_SQLITE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/error.h>

typedef struct arcp__sqlite_file {
    int fd;     /* holds the lock; closed after all connections (see sqlite_file.c) */
    char *path; /* absolute, without links; owned */
} arcp__sqlite_file;

/* Opens or creates (0600, missing directories 0700) and locks. ARCP_E_EXISTS when another
 * owner has it, ARCP_E_IO, ARCP_E_USAGE, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_file_open(const char *path, arcp__sqlite_file *out,
                                                   arcp_error *err);
void arcp__sqlite_file_close(arcp__sqlite_file *file);

/* Whether the file still has a name: what is written to one without is lost. */
bool arcp__sqlite_file_has_name(const arcp__sqlite_file *file);

/* Bytes of the file and of the log beside it. */
uint64_t arcp__sqlite_file_bytes(const arcp__sqlite_file *file);

#endif
