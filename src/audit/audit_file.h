/* The files of the audit log: whole lines at the end, rotation, what a crash or a full disk
 * leaves behind. One thread at a time. */
#ifndef ARCP_AUDIT_AUDIT_FILE_H
#define ARCP_AUDIT_AUDIT_FILE_H

#include "audit/audit_chain.h"

typedef struct arcp__audit_file {
    char *path; /* owned */
    int fd;
    uint64_t size;                 /* of whole lines */
    arcp__audit_head head;         /* of the last line that was added */
    arcp_buf out;                  /* lines that were added and are not in the file yet */
    arcp__audit_head written_head; /* of the last line that is in the file */
    uint64_t synced_size;          /* what the disk has for certain */
    arcp__audit_head synced_head;
    arcp_buf unsynced; /* a copy of what follows in the file */
    bool must_rewrite; /* a sync failed: the kernel may have dropped it, and says so once only */
    bool must_sync;    /* likewise, until a sync succeeds */
} arcp__audit_file;

/* Opens the file, mode 0600, and goes on with its chain, or with the one of the files beside
 * it. What a crash or a power failure left behind the last whole line is kept and noted; a file
 * with lines none of which is of a chain is renamed to PATH.foreign-SECONDS. Begins with a line
 * `opened`. ARCP_E_IO: it cannot be opened; ARCP_E_EXISTS: another process writes it. */
ARCP_MUST_CHECK arcp_status arcp__audit_file_open(arcp__audit_file *file, const char *path,
                                                  arcp_error *err);

/* Adds a line; it is in memory until it is written. False when out of memory. */
ARCP_MUST_CHECK bool arcp__audit_file_add(arcp__audit_file *file, arcp_span record);

/* Writes what was added. When that fails the file keeps whole lines only and what was added
 * stays to be written again. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__audit_file_write(arcp__audit_file *file, arcp_error *err);

/* Syncs what was written. After a failure the next write writes all of that again: only a sync that
 * covers what was written since is believed. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__audit_file_sync(arcp__audit_file *file, arcp_error *err);

/* Goes on in a new file: this one is renamed to PATH.<number of its last line, 12 digits>.
 * Everything must have been written. */
ARCP_MUST_CHECK arcp_status arcp__audit_file_rotate(arcp__audit_file *file, arcp_error *err);

/* The same, when somebody else has moved the file away; nothing otherwise. */
ARCP_MUST_CHECK arcp_status arcp__audit_file_reopen(arcp__audit_file *file, arcp_error *err);

/* Adds and writes a line about the log itself; `members` is JSON, `"name":value,...`, or
 * empty. */
ARCP_MUST_CHECK arcp_status arcp__audit_file_note(arcp__audit_file *file, const char *decision,
                                                  const char *members, arcp_error *err);

/* Notes that the log was closed, and closes it; what fails is left. `head` stays: that of the last
 * line that is in the file. */
void arcp__audit_file_close(arcp__audit_file *file);

#endif
