/* Files that hold secrets: keys, tokens, the state of a session. */
#ifndef ARCP_FILE_PRIVATE_FILE_H
#define ARCP_FILE_PRIVATE_FILE_H

#include <stdbool.h>

#include <arcp/buf.h>
#include <arcp/error.h>

typedef struct arcp__private_file {
    const char *what; /* begins each message: "credential key file" */
    const char *path;
    size_t bytes_max;   /* reading stops here; a caller that gets this many assumes there is more */
    unsigned closed_to; /* permission bits that the file must not have: 077, 07 or none */
    bool must_be_ours;  /* the file must belong to the effective user */
    bool may_be_link;   /* otherwise a symbolic link is ARCP_E_IO */
} arcp__private_file;

/* Appends the content of the file; does not block on a FIFO. ARCP_E_NOT_FOUND when the file does
 * not exist, ARCP_E_USAGE when it is not a regular file or has the wrong owner or permissions,
 * ARCP_E_IO, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__private_file_read(const arcp__private_file *file, arcp_buf *out,
                                                    arcp_error *err);

/* Creates or replaces the file (mode 0600); a reader sees either the old content or the new one,
 * complete. Not synced. ARCP_E_USAGE for a path that is too long, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__private_file_replace(const arcp__private_file *file,
                                                       arcp_span text, arcp_error *err);

/* Creates the file unless it exists. When two processes create it at once, both read the same
 * content afterwards. The file is durable when this returns. Same errors as
 * arcp__private_file_replace. */
ARCP_MUST_CHECK arcp_status arcp__private_file_make(const arcp__private_file *file, arcp_span text,
                                                    arcp_error *err);

/* Appends the content of the file, after creating it with `initial` if it does not exist. */
ARCP_MUST_CHECK arcp_status arcp__private_file_read_or_make(const arcp__private_file *file,
                                                            arcp_span initial, arcp_buf *out,
                                                            arcp_error *err);

#endif
