/* Files that hold secrets: keys, tokens, the state of a session. */
#ifndef ARCP_FILE_PRIVATE_FILE_H
#define ARCP_FILE_PRIVATE_FILE_H

#include <stdbool.h>

#include <arcp/buf.h>
#include <arcp/error.h>

typedef struct arcp__private_file {
    const char *what; /* begins each message: "credential key file" */
    const char *path;
    size_t bytes_max;   /* reading stops there: one who gets as many does not know the end */
    unsigned closed_to; /* permission bits that it must not have: 077, 07 or none */
    bool must_be_ours;  /* of the user that we are */
    bool may_be_link;   /* else a symbolic link is no such file: ARCP_E_IO */
} arcp__private_file;

/* Appends what the file holds; waits for no FIFO. ARCP_E_NOT_FOUND when it is not there,
 * ARCP_E_USAGE when it is no regular file or others may use it, ARCP_E_IO, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__private_file_read(const arcp__private_file *file, arcp_buf *out,
                                                    arcp_error *err);

/* Makes the file (mode 0600), or replaces it: a reader sees the old one or the new one, whole. Not
 * synced. ARCP_E_USAGE for a path that is too long, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__private_file_replace(const arcp__private_file *file,
                                                       arcp_span text, arcp_error *err);

/* Makes the file unless it is there: also when two make it at once all read the same, and a crash
 * of the machine undoes it no more when this returns. Fails as a replacing does. */
ARCP_MUST_CHECK arcp_status arcp__private_file_make(const arcp__private_file *file, arcp_span text,
                                                    arcp_error *err);

/* Appends what the file holds, which is `initial` when it had to be made. */
ARCP_MUST_CHECK arcp_status arcp__private_file_read_or_make(const arcp__private_file *file,
                                                            arcp_span initial, arcp_buf *out,
                                                            arcp_error *err);

#endif
