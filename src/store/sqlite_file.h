/* The database file: created if missing, and locked by one process at a time. */
#ifndef ARCP_STORE_SQLITE_FILE_H
#define ARCP_STORE_SQLITE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/error.h>

typedef struct arcp__sqlite_file {
    int fd;     /* holds the lock; closed after all connections (see sqlite_file.c) */
    char *path; /* absolute, without links; owned */
    char *log;  /* the path of the log; owned */
    uint64_t log_inode;
    uint64_t bytes_min; /* minimum size of the database; a shorter file was truncated */
} arcp__sqlite_file;

/* Opens or creates the file (0600, missing directories 0700), locks it, and checks the log of an
 * earlier owner. ARCP_E_EXISTS: another process has locked it. ARCP_E_CORRUPT: the log is damaged,
 * or exists without a database. ARCP_E_IO, ARCP_E_USAGE, ARCP_E_NO_MEMORY. */
arcp_status arcp__sqlite_file_open(const char *path, arcp__sqlite_file *out, arcp_error *err);
void arcp__sqlite_file_close(arcp__sqlite_file *file);

/* Remembers the log file that SQLite has opened. ARCP_E_IO: there is none, which is the case after
 * an I/O error while SQLite created it. */
arcp_status arcp__sqlite_file_note_log(arcp__sqlite_file *file, arcp_error *err);
/* Checks that both paths still lead to the open files and that the log has at least so many bytes;
 * otherwise further writes would be lost. ARCP_E_IO. */
arcp_status arcp__sqlite_file_check(const arcp__sqlite_file *file, uint64_t log_bytes,
                                    arcp_error *err);
/* Size of the database file. */
uint64_t arcp__sqlite_file_database_bytes(const arcp__sqlite_file *file);

/* Size of the database file and the log. */
uint64_t arcp__sqlite_file_bytes(const arcp__sqlite_file *file);

#endif
