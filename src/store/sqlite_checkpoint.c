#include "store/sqlite_checkpoint.h"

#include "base/thread.h"

static void *run(void *user)
{
    arcp__sqlite_checkpoint *checkpoint = user;
    pthread_mutex_lock(&checkpoint->mutex);
    while (!checkpoint->is_stopping) {
        if (checkpoint->state != ARCP__CHECKPOINT_REQUESTED) {
            pthread_cond_wait(&checkpoint->changed, &checkpoint->mutex);
            continue;
        }
        pthread_mutex_unlock(&checkpoint->mutex);
        /* A failure will show when the writer finishes the checkpoint. */
        (void)sqlite3_wal_checkpoint_v2(checkpoint->sqlite.db, NULL, SQLITE_CHECKPOINT_PASSIVE,
                                        NULL, NULL);
        pthread_mutex_lock(&checkpoint->mutex);
        checkpoint->state = ARCP__CHECKPOINT_DONE;
        pthread_cond_broadcast(&checkpoint->changed);
    }
    pthread_mutex_unlock(&checkpoint->mutex);
    return NULL;
}

static int note_log_pages(void *user, sqlite3 *db, const char *name, int pages)
{
    arcp__sqlite_checkpoint *checkpoint = user;
    checkpoint->log_pages = pages;
    return SQLITE_OK;
}

arcp_status arcp__sqlite_checkpoint_start(arcp__sqlite_checkpoint *checkpoint, arcp__sqlite *writer,
                                          arcp_error *err)
{
    *checkpoint = (arcp__sqlite_checkpoint){.writer = writer, .start_at = ARCP__SQLITE_LOG_PAGES};
    if (arcp__sqlite_open(&checkpoint->sqlite, writer->path, true, "PRAGMA synchronous = FULL",
                          err) != ARCP_OK) {
        return err->status;
    }
    pthread_mutex_init(&checkpoint->gate, NULL);
    pthread_mutex_init(&checkpoint->mutex, NULL);
    pthread_cond_init(&checkpoint->changed, NULL);
    sqlite3_wal_hook(writer->db, note_log_pages, checkpoint);
    if (arcp__thread_start(&checkpoint->thread, "arcp-checkpoint", run, checkpoint) != 0) {
        pthread_cond_destroy(&checkpoint->changed);
        pthread_mutex_destroy(&checkpoint->mutex);
        pthread_mutex_destroy(&checkpoint->gate);
        sqlite3_wal_hook(writer->db, NULL, NULL);
        arcp__sqlite_close(&checkpoint->sqlite);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "cannot create a thread for the store");
    }
    return ARCP_OK;
}

void arcp__sqlite_checkpoint_stop(arcp__sqlite_checkpoint *checkpoint)
{
    if (checkpoint->sqlite.db == NULL) {
        return;
    }
    pthread_mutex_lock(&checkpoint->mutex);
    checkpoint->is_stopping = true;
    pthread_cond_broadcast(&checkpoint->changed);
    pthread_mutex_unlock(&checkpoint->mutex);
    pthread_join(checkpoint->thread, NULL);
    sqlite3_wal_hook(checkpoint->writer->db, NULL, NULL);
    pthread_cond_destroy(&checkpoint->changed);
    pthread_mutex_destroy(&checkpoint->mutex);
    pthread_mutex_destroy(&checkpoint->gate);
    arcp__sqlite_close(&checkpoint->sqlite);
}

/* Copies the rest of the log into the database and restarts the log. A reader of another program
 * (the sqlite3 command) can prevent that; it is tried again when the log has grown by the same
 * amount. */
static bool restart_log(arcp__sqlite_checkpoint *checkpoint, arcp__sqlite_streams *streams)
{
    arcp_error ignored = {0};
    if (arcp__sqlite_streams_close_all(streams, &ignored) != ARCP_OK) {
        checkpoint->start_at = checkpoint->log_pages + ARCP__SQLITE_LOG_PAGES;
        return false;
    }
    sqlite3 *db = checkpoint->writer->db;
    pthread_mutex_lock(&checkpoint->gate);
    sqlite3_busy_timeout(db, 0);
    const int code = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    sqlite3_busy_timeout(db, ARCP__SQLITE_BUSY_TIMEOUT_MS);
    pthread_mutex_unlock(&checkpoint->gate);
    checkpoint->start_at =
        code == SQLITE_OK ? ARCP__SQLITE_LOG_PAGES : checkpoint->log_pages + ARCP__SQLITE_LOG_PAGES;
    checkpoint->log_pages = code == SQLITE_OK ? 0 : checkpoint->log_pages;
    return code == SQLITE_OK;
}

bool arcp__sqlite_checkpoint_after_commit(arcp__sqlite_checkpoint *checkpoint,
                                          arcp__sqlite_streams *streams)
{
    if (checkpoint->log_pages < checkpoint->start_at) {
        return false;
    }
    bool is_done = false;
    pthread_mutex_lock(&checkpoint->mutex);
    if (checkpoint->state == ARCP__CHECKPOINT_IDLE) {
        checkpoint->state = ARCP__CHECKPOINT_REQUESTED;
        pthread_cond_broadcast(&checkpoint->changed);
    }
    const bool must_wait = checkpoint->log_pages >= ARCP__SQLITE_LOG_PAGES_LIMIT &&
                           checkpoint->start_at == ARCP__SQLITE_LOG_PAGES;
    while (must_wait && checkpoint->state == ARCP__CHECKPOINT_REQUESTED) {
        pthread_cond_wait(&checkpoint->changed, &checkpoint->mutex);
    }
    if (checkpoint->state == ARCP__CHECKPOINT_DONE) {
        checkpoint->state = ARCP__CHECKPOINT_IDLE;
        is_done = true;
    }
    pthread_mutex_unlock(&checkpoint->mutex);
    return is_done && restart_log(checkpoint, streams);
}

bool arcp__sqlite_checkpoint_now(arcp__sqlite_checkpoint *checkpoint, arcp__sqlite_streams *streams)
{
    pthread_mutex_lock(&checkpoint->mutex);
    const bool is_idle = checkpoint->state == ARCP__CHECKPOINT_IDLE;
    pthread_mutex_unlock(&checkpoint->mutex);
    return is_idle && restart_log(checkpoint, streams);
}

/* The log has a header, and a header for each page. */
uint64_t arcp__sqlite_checkpoint_log_bytes(const arcp__sqlite_checkpoint *checkpoint)
{
    const uint64_t pages = (uint64_t)checkpoint->log_pages;
    return pages == 0 ? 0 : 32 + pages * (24 + ARCP__SQLITE_PAGE_BYTES);
}
