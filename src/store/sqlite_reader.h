/* The thread that reads, on a connection of its own: a long replay does not hold up
 * commits, and a commit does not hold up a replay. */
#ifndef ARCP_STORE_SQLITE_READER_H
#define ARCP_STORE_SQLITE_READER_H

#include "store/handover.h"
#include "store/sqlite_checkpoint.h"

typedef struct arcp__sqlite_reader {
    arcp__sqlite sqlite;
    arcp__handover *handover;            /* borrowed */
    arcp__sqlite_checkpoint *checkpoint; /* borrowed */
} arcp__sqlite_reader;

/* Opens the connection; the database has its schema already. */
ARCP_MUST_CHECK arcp_status arcp__sqlite_reader_open(arcp__sqlite_reader *reader, const char *path,
                                                     arcp_error *err);
void arcp__sqlite_reader_close(arcp__sqlite_reader *reader);

/* The thread of `user`, a reader; returns when the hand-over says so. */
void *arcp__sqlite_reader_run(void *user);

#endif
