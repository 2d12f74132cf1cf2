/* The database file: made when missing, and owned by one process at a time. */
#ifndef ARCP_STORE_SQLITE_FILE_H
#define ARCP_STORE_SQLITE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/error.h>

typedef struct arcp__sqlite_file {
    int fd;     /* holds the lock; closed after all connections (see sqlite_file.c) */
    char *path; /* absolute, without links; owned */
    uint64_t log_inode;
    uint64_t bytes_min; /* of the database: shorter it cannot have become */
} arcp__sqlite_file;

/* Opens or creates (0600, missing directories 0700) and locks, and looks at the log that an owner
 * left. ARCP_E_EXISTS when another owner has it, ARCP_E_CORRUPT when the log is damaged, or there
 * without its database, ARCP_E_IO, ARCP_E_USAGE, ARCP_E_NO_MEMORY. */
arcp_status arcp__sqlite_file_open(const char *path, arcp__sqlite_file *out, arcp_error *err);
void arcp__sqlite_file_close(arcp__sqlite_file *file);

/* Notes which file the log is: SQLite has opened it. ARCP_E_IO when there is none, as after a disk
 * failed while SQLite made it. */
arcp_status arcp__sqlite_file_note_log(arcp__sqlite_file *file, arcp_error *err);
/* Whether both names still lead to what was opened, and the log has at least so many bytes: what
 * is written to other files is lost. ARCP_E_IO. */
arcp_status arcp__sqlite_file_check(const arcp__sqlite_file *file, uint64_t log_bytes,
                                    arcp_error *err);
/* Bytes of the database. */
uint64_t arcp__sqlite_file_database_bytes(const arcp__sqlite_file *file);

/* Bytes of the file and of the log beside it. */
uint64_t arcp__sqlite_file_bytes(const arcp__sqlite_file *file);

#endif
