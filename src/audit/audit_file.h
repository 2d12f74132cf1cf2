/* The files of the audit log: keeping complete lines after crashes and write errors, and rotation.
 * Used by one thread at a time. */
#ifndef ARCP_AUDIT_AUDIT_FILE_H
#define ARCP_AUDIT_AUDIT_FILE_H

#include "audit/audit_chain.h"

typedef struct arcp__audit_file {
    char *path; /* owned */
    int fd;
    uint64_t size;                 /* of complete lines */
    arcp__audit_head head;         /* of the last line that was added */
    arcp_buf out;                  /* lines that were added but not written yet */
    arcp__audit_head written_head; /* of the last line in the file */
    uint64_t synced_size;          /* of the part that was synced */
    arcp__audit_head synced_head;
    arcp_buf unsynced; /* a copy of the part after it */
    bool must_rewrite; /* a sync failed: the kernel may have dropped that part, which it reports
                          only once */
    bool must_sync;    /* no sync has succeeded since */
} arcp__audit_file;

/* Opens the file with mode 0600 and continues its chain, or that of the files beside it. Remains of
 * an interrupted write after the last complete line are kept and recorded. A file whose lines
 * belong to no chain is renamed to PATH.foreign-SECONDS. Writes a line `opened`. ARCP_E_IO: it
 * cannot be opened; ARCP_E_EXISTS: another process writes it. */
ARCP_MUST_CHECK arcp_status arcp__audit_file_open(arcp__audit_file *file, const char *path,
                                                  arcp_error *err);

/* Adds a line, which stays in memory until it is written. False when out of memory. */
ARCP_MUST_CHECK bool arcp__audit_file_add(arcp__audit_file *file, arcp_span record);

/* Writes the added lines. On failure the file keeps complete lines only, and the added lines are
 * kept for the next attempt. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__audit_file_write(arcp__audit_file *file, arcp_error *err);

/* Syncs the file. After a failure the next write repeats everything that was not synced, because a
 * later sync would not report that the kernel has dropped it. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__audit_file_sync(arcp__audit_file *file, arcp_error *err);

/* Renames the file to PATH.<number of its last line, 12 digits> and continues in a new one. All
 * added lines must have been written. */
ARCP_MUST_CHECK arcp_status arcp__audit_file_rotate(arcp__audit_file *file, arcp_error *err);

/* Continues in a new file if this one has been moved; otherwise does nothing. */
ARCP_MUST_CHECK arcp_status arcp__audit_file_reopen(arcp__audit_file *file, arcp_error *err);

/* Adds and writes a line about the log itself; `members` is JSON such as `"name":value,...`, or "".
 */
ARCP_MUST_CHECK arcp_status arcp__audit_file_note(arcp__audit_file *file, const char *decision,
                                                  const char *members, arcp_error *err);

/* Writes a line `closed` and closes the file; errors are ignored. `head` remains valid: that of the
 * last line in the file. */
void arcp__audit_file_close(arcp__audit_file *file);

#endif
