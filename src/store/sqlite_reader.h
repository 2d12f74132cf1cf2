/* The reader thread has a connection of its own, so that long replays do not delay commits and
 * commits do not delay replays. */
#ifndef ARCP_STORE_SQLITE_READER_H
#define ARCP_STORE_SQLITE_READER_H

#include "store/sqlite_checkpoint.h"
#include "store/store_queue.h"

typedef struct arcp__sqlite_reader {
    arcp__sqlite sqlite;
    arcp__store_queue *queue;            /* borrowed */
    arcp__sqlite_checkpoint *checkpoint; /* borrowed */
} arcp__sqlite_reader;

/* Opens the connection to a database that has its schema. Closed by arcp__sqlite_close. */
arcp_status arcp__sqlite_reader_open(arcp__sqlite_reader *reader, const char *path,
                                     arcp_error *err);

/* The function of the thread; `user` is the reader. Returns when the queue is closed. */
void *arcp__sqlite_reader_run(void *user);

#endif
