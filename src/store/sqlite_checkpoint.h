/* Moves the log into the database while the writer commits.
 *
 * A checkpoint writes and syncs the database file, which takes many times as long as a commit.
 * Therefore a separate thread copies the log while commits continue. Then the writer copies the
 * little that was added meanwhile and restarts the log, for which no read may be in progress. In
 * this way the log stays at a few MiB and reuses the blocks of its file, so that a commit is one
 * write and one sync. */
#ifndef ARCP_STORE_SQLITE_CHECKPOINT_H
#define ARCP_STORE_SQLITE_CHECKPOINT_H

#include <pthread.h>

#include "store/sqlite_stream.h"

#define ARCP__SQLITE_PAGE_BYTES      4096u
#define ARCP__SQLITE_LOG_PAGES       1000  /* size at which a checkpoint begins (4 MiB) */
#define ARCP__SQLITE_LOG_PAGES_LIMIT 16384 /* size at which the writer waits for it (64 MiB) */

typedef enum arcp__checkpoint_state {
    ARCP__CHECKPOINT_IDLE,
    ARCP__CHECKPOINT_REQUESTED, /* or running */
    ARCP__CHECKPOINT_DONE       /* the writer must finish it */
} arcp__checkpoint_state;

typedef struct arcp__sqlite_checkpoint {
    arcp__sqlite sqlite;  /* the thread's connection */
    arcp__sqlite *writer; /* borrowed; its thread calls after_commit */
    int log_pages;        /* used by the writer: size after its last commit */
    int start_at;         /* used by the writer: size at which to request the next checkpoint */
    pthread_t thread;
    pthread_mutex_t gate;  /* held during each read, and while the log is restarted */
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t changed;
    arcp__checkpoint_state state;
    bool is_stopping;
} arcp__sqlite_checkpoint;

/* Opens a connection and starts the thread. */
arcp_status arcp__sqlite_checkpoint_start(arcp__sqlite_checkpoint *checkpoint, arcp__sqlite *writer,
                                          arcp_error *err);
/* Ends the thread, if it was started. */
void arcp__sqlite_checkpoint_stop(arcp__sqlite_checkpoint *checkpoint);

/* Called by the writer between two transactions. A checkpoint that fails is tried again later; the
 * log keeps its content. Streams are closed before the log is restarted. True if it was restarted:
 * everything is in the database file. */
bool arcp__sqlite_checkpoint_after_commit(arcp__sqlite_checkpoint *checkpoint,
                                          arcp__sqlite_streams *streams);

/* The same at once; called when the writer is idle and the file is to be shortened. */
bool arcp__sqlite_checkpoint_now(arcp__sqlite_checkpoint *checkpoint,
                                 arcp__sqlite_streams *streams);

/* The minimum size of the log file after the last commit. */
uint64_t arcp__sqlite_checkpoint_log_bytes(const arcp__sqlite_checkpoint *checkpoint);

#endif
