/* The thread that reads, on a connection of its own: a long replay does not hold up
 * commits, and a commit does not hold up a replay. */
#ifndef ARCP_STORE_SQLITE_READER_H
#define ARCP_STORE_SQLITE_READER_H

#include "store/sqlite_checkpoint.h"
#include "store/store_queue.h"

typedef struct arcp__sqlite_reader {
    arcp__sqlite sqlite;
    arcp__store_queue *queue;            /* borrowed */
    arcp__sqlite_checkpoint *checkpoint; /* borrowed */
} arcp__sqlite_reader;

/* Opens the connection; the database has its schema already. Closed by arcp__sqlite_close. */
arcp_status arcp__sqlite_reader_open(arcp__sqlite_reader *reader, const char *path,
                                     arcp_error *err);

/* The thread of `user`, a reader; returns when the queue says so. */
void *arcp__sqlite_reader_run(void *user);

#endif
