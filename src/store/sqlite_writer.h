/* The one thread that writes: takes all batches that wait, makes them one transaction,
 * answers them. */
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
    uint64_t failed_epoch;               /* batches of earlier epochs fail like `failed` */
    arcp_error failed;
    bool can_shrink; /* the file can give free pages back */
} arcp__sqlite_writer;

/* Opens the connection that writes, and the schema with it. */
arcp_status arcp__sqlite_writer_open(arcp__sqlite_writer *writer, arcp__sqlite_file *file,
                                     arcp_error *err);
void arcp__sqlite_writer_close(arcp__sqlite_writer *writer);

/* The thread of `user`, a writer; returns when the queue says so. */
void *arcp__sqlite_writer_run(void *user);

#endif
