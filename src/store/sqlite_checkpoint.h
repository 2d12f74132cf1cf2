/* Moving the log into the database, beside the writer.
 *
 * A checkpoint writes and syncs the database file, which takes many times as long as a
 * commit. So a thread of its own copies what is in the log while commits go on; then the
 * writer copies the little that came meanwhile and starts the log over, which needs every
 * reader to be out for a moment. The log thus stays at a few MiB, in blocks that the file
 * has already: a commit is one write and one sync. */
#ifndef ARCP_STORE_SQLITE_CHECKPOINT_H
#define ARCP_STORE_SQLITE_CHECKPOINT_H

#include <pthread.h>

#include "store/sqlite_stream.h"

#define ARCP__SQLITE_PAGE_BYTES      4096u
#define ARCP__SQLITE_LOG_PAGES       1000  /* from here on it is checkpointed (4 MiB) */
#define ARCP__SQLITE_LOG_PAGES_LIMIT 16384 /* here the writer waits for it (64 MiB) */

typedef enum arcp__checkpoint_state {
    ARCP__CHECKPOINT_IDLE,
    ARCP__CHECKPOINT_ASKED, /* or running */
    ARCP__CHECKPOINT_DONE   /* the writer has to finish it */
} arcp__checkpoint_state;

typedef struct arcp__sqlite_checkpoint {
    arcp__sqlite sqlite;  /* the thread's own */
    arcp__sqlite *writer; /* borrowed; its thread calls after_commit */
    int log_pages;        /* the writer's: as of its last commit */
    int start_at;         /* the writer's: pages from which to ask again */
    pthread_t thread;
    pthread_mutex_t gate;  /* held around each read, and while the log starts over */
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    arcp__checkpoint_state state;
    bool is_stopping;
} arcp__sqlite_checkpoint;

/* Opens a connection and starts the thread. */
arcp_status arcp__sqlite_checkpoint_start(arcp__sqlite_checkpoint *checkpoint, arcp__sqlite *writer,
                                          arcp_error *err);
/* Ends the thread; nothing happens when it was never started. */
void arcp__sqlite_checkpoint_stop(arcp__sqlite_checkpoint *checkpoint);

/* The writer, between two transactions. A checkpoint that fails is tried again later:
 * what is in the log is safe there. Streams are closed before the log starts over. True when it
 * did: all is in the database. */
bool arcp__sqlite_checkpoint_after_commit(arcp__sqlite_checkpoint *checkpoint,
                                          arcp__sqlite_streams *streams);

/* The same at once, when nothing waits and the file shall get shorter. */
bool arcp__sqlite_checkpoint_now(arcp__sqlite_checkpoint *checkpoint,
                                 arcp__sqlite_streams *streams);

/* Bytes that the log must have at least. */
uint64_t arcp__sqlite_checkpoint_log_bytes(const arcp__sqlite_checkpoint *checkpoint);

#endif
