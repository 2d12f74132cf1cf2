/* The writer thread: takes all waiting batches, commits them in one transaction, and answers them.
 */
#ifndef ARCP_STORE_SQLITE_WRITER_H
#define ARCP_STORE_SQLITE_WRITER_H

#include "store/sqlite_checkpoint.h"
#include "store/sqlite_file.h"
#include "store/sqlite_stream.h"
#include "store/store_queue.h"

typedef struct arcp__sqlite_writer {
    arcp__sqlite sqlite;
    arcp__sqlite_tables tables;
    arcp__sqlite_streams streams;
    arcp__sqlite_file *file;             /* borrowed */
    arcp__store_queue *queue;            /* borrowed */
    arcp__sqlite_checkpoint *checkpoint; /* borrowed */
    uint64_t failed_epoch;               /* batches of earlier epochs fail with `failed` */
    arcp_error failed;
    bool can_shrink; /* the file can release free pages */
} arcp__sqlite_writer;

/* Opens the writer's connection, and creates or migrates the schema. */
arcp_status arcp__sqlite_writer_open(arcp__sqlite_writer *writer, arcp__sqlite_file *file,
                                     arcp_error *err);
void arcp__sqlite_writer_close(arcp__sqlite_writer *writer);

/* The function of the thread; `user` is the writer. Returns when the queue is closed. */
void *arcp__sqlite_writer_run(void *user);

#endif
