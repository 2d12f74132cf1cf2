/* Group commit: batches that arrive while one transaction waits for the disk share the next one.
 *
 * If a transaction fails, it is rolled back and its batches are tried one by one. So a batch that
 * cannot be applied does not make the batches before it fail, and a temporary failure, such as a
 * failed sync, is repaired: all pages are written again. The first batch that fails alone, and all
 * batches after it, fail until the owner has been notified (see <arcp/sys/store.h>: the order is
 * kept when they are submitted again).
 *
 * Crash points: before COMMIT returns, nothing of the transaction is in the database and no batch
 * was answered. After it, everything is in the database, whether or not the answers are delivered.
 */
#include "store/sqlite_writer.h"

#include "base/clock.h"
#include "store/sqlite_schema.h"

/* A transaction takes no further batches once it has this many bytes. */
#define TRANSACTION_BYTES 8388608u

/* The schema sets WAL. synchronous FULL: a commit returns when the log is on disk. Only
 * sqlite_checkpoint.c checkpoints the log; up to 16 MiB of its file are kept and overwritten. */
#define SETUP                                                                                      \
    "PRAGMA page_size = 4096;" /* ARCP__SQLITE_PAGE_BYTES */                                       \
    "PRAGMA auto_vacuum = INCREMENTAL;"                                                            \
    "PRAGMA synchronous = FULL;"                                                                   \
    "PRAGMA wal_autocheckpoint = 0;"                                                               \
    "PRAGMA journal_size_limit = 16777216;"                                                        \
    "PRAGMA cache_size = -16384;"                                                                  \
    "PRAGMA temp_store = MEMORY;"                                                                  \
    "PRAGMA secure_delete = FAST;"                                                                 \
    "PRAGMA trusted_schema = OFF"

/* Updates the minimum size of the database file. A checkpoint extends the file to the size
 * according to the last commit; it becomes shorter only after free pages were released. */
static void note_length(arcp__sqlite_writer *writer, bool is_settled)
{
    arcp_error ignored = {0};
    const uint64_t bytes = arcp__sqlite_file_database_bytes(writer->file);
    const int64_t pages = arcp__sqlite_integer(&writer->sqlite, "PRAGMA page_count", &ignored);
    uint64_t least = (uint64_t)pages * ARCP__SQLITE_PAGE_BYTES;
    least = least < bytes ? least : bytes;
    if (ignored.status == ARCP_OK && (is_settled || least < writer->file->bytes_min)) {
        writer->file->bytes_min = least;
    }
}

arcp_status arcp__sqlite_writer_open(arcp__sqlite_writer *writer, arcp__sqlite_file *file,
                                     arcp_error *err)
{
    *writer = (arcp__sqlite_writer){.file = file};
    arcp__sqlite *sqlite = &writer->sqlite;
    arcp__sqlite_open(sqlite, file->path, true, SETUP, err);
    arcp__sqlite_schema_open(sqlite, err);
    arcp__sqlite_file_note_log(file, err);
    if (err->status == ARCP_OK) {
        note_length(writer, true);
    }
    writer->can_shrink = arcp__sqlite_integer(sqlite, "PRAGMA auto_vacuum", err) == 2;
    arcp__sqlite_tables_init(&writer->tables, sqlite, err);
    arcp__sqlite_streams_init(&writer->streams, sqlite, &writer->tables, err);
    arcp__sqlite_streams_close_all(&writer->streams, err); /* of a killed process */
    if (err->status != ARCP_OK) {
        arcp__sqlite_writer_close(writer);
    }
    return err->status;
}

void arcp__sqlite_writer_close(arcp__sqlite_writer *writer)
{
    arcp_error ignored = {0};
    if (writer->sqlite.db != NULL) {
        /* Streams that stay open are closed after the next start. */
        arcp__sqlite_streams_close_all(&writer->streams, &ignored);
    }
    arcp__sqlite_streams_fini(&writer->streams);
    arcp__sqlite_close(&writer->sqlite);
}

/* ---- transactions ---- */

static arcp_status begin(arcp__sqlite_writer *writer, arcp_error *err)
{
    /* Writes to a file that was deleted, moved or truncated succeed, but are lost. */
    if (arcp__sqlite_file_check(writer->file, arcp__sqlite_checkpoint_log_bytes(writer->checkpoint),
                                err) == ARCP_OK) {
        arcp__sqlite_rollback(&writer->sqlite); /* in case the last transaction is still open */
    }
    return arcp__sqlite_do(&writer->sqlite, ARCP__SQLITE_BEGIN_WRITE, err);
}

/* Applies up to `limit` batches from `first` on, and deletes some garbage, in one transaction. On
 * failure nothing is applied. */
static arcp_status transact(arcp__sqlite_writer *writer, const arcp__request *first, size_t limit,
                            bool *has_begun, arcp_error *err)
{
    const int64_t began_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    uint64_t batches = 0;
    uint64_t ops = 0;
    *has_begun = begin(writer, err) == ARCP_OK;
    for (const arcp__request *batch = first;
         err->status == ARCP_OK && batch != NULL && batches < limit; batch = batch->next) {
        for (size_t i = 0; err->status == ARCP_OK && i < batch->count; i++) {
            if (arcp__store_is_of_row(&batch->ops[i])) {
                arcp__sqlite_tables_apply(&writer->tables, &batch->ops[i], err);
            } else {
                arcp__sqlite_streams_apply(&writer->streams, &batch->ops[i], err);
            }
        }
        batches++;
        ops += batch->count;
    }
    arcp__sqlite_streams_finish(&writer->streams, err);
    arcp__sqlite_tables_flush(&writer->tables, false, err);
    if (arcp__sqlite_commit(&writer->sqlite, err) != ARCP_OK) {
        arcp__sqlite_streams_abandoned(&writer->streams);
        arcp__sqlite_tables_abandoned(&writer->tables);
        return err->status;
    }
    arcp__sqlite_streams_committed(&writer->streams);
    arcp__sqlite_tables_committed(&writer->tables);
    if (batches != 0) {
        arcp__queue_count_commit(writer->queue, batches, ops, began_ns);
    }
    return ARCP_OK;
}

static void write_batches(arcp__sqlite_writer *writer, arcp__request *batches)
{
    arcp_error err = {0};
    bool has_begun = false;
    arcp__request *first = batches;
    for (; first != NULL && first->epoch < writer->failed_epoch; first = first->next) {
        first->error = writer->failed;
    }
    if (first != NULL && transact(writer, first, SIZE_MAX, &has_begun, &err) != ARCP_OK) {
        /* Try the batches one by one, unless the transaction could not even begin. */
        for (bool continues = has_begun; continues && first != NULL;) {
            err = (arcp_error){0};
            continues = transact(writer, first, 1, &has_begun, &err) == ARCP_OK;
            first = continues ? first->next : first;
        }
        if (first != NULL) {
            writer->failed = err;
            writer->failed_epoch = first->epoch + 1;
        }
        for (; first != NULL; first = first->next) {
            first->error = err;
        }
    }
    arcp__queue_answer_batches(writer->queue, batches);
}

/* ---- while no batch waits ---- */

/* Free pages that are kept for future data: a quarter of the file, and at least 1 MiB. */
#define FREE_PAGES_KEPT 256
#define FREE_PAGES_STEP "512" /* released in one transaction */

static bool has_free_pages(arcp__sqlite_writer *writer)
{
    arcp_error ignored = {0};
    bool has = false;
    sqlite3_stmt *statement = arcp__sqlite_get(&writer->sqlite, ARCP__SQLITE_FREE_PAGES, &ignored);
    if (arcp__sqlite_next(&writer->sqlite, statement, &ignored)) {
        const int64_t free_pages = sqlite3_column_int64(statement, 0);
        has = free_pages > FREE_PAGES_KEPT && free_pages > sqlite3_column_int64(statement, 1) / 4;
    }
    sqlite3_reset(statement);
    return has;
}

/* Whether enough was deleted that free pages should be released. A file that was created without
 * auto_vacuum keeps them. */
static bool must_shrink(arcp__sqlite_writer *writer)
{
    if (writer->streams.runs_deleted < ARCP__SQLITE_SHRINK_RUNS) {
        return false;
    }
    if (!writer->can_shrink || !has_free_pages(writer)) {
        writer->streams.runs_deleted = 0;
        return false;
    }
    return true;
}

/* Releases some free pages to the file system. */
static void shrink(arcp__sqlite_writer *writer)
{
    arcp_error err = {0};
    begin(writer, &err);
    arcp__sqlite_exec(&writer->sqlite, "PRAGMA incremental_vacuum(" FREE_PAGES_STEP ")", &err);
    arcp__sqlite_commit(&writer->sqlite, &err);
    note_length(writer, false);
    if (err.status == ARCP_OK && has_free_pages(writer)) {
        return; /* continue the next time */
    }
    writer->streams.runs_deleted = 0;
    if (arcp__sqlite_checkpoint_now(writer->checkpoint, &writer->streams)) {
        note_length(writer, true);
    }
}

void *arcp__sqlite_writer_run(void *user)
{
    arcp__sqlite_writer *writer = user;
    for (;;) {
        arcp__request *batches = NULL;
        const bool has_garbage = arcp__sqlite_streams_has_garbage(&writer->streams);
        const bool has_work = has_garbage || must_shrink(writer);
        if (!arcp__queue_take_batches(writer->queue, !has_work, TRANSACTION_BYTES, &batches)) {
            return NULL;
        }
        if (batches != NULL) {
            write_batches(writer, batches);
        } else if (has_garbage) {
            arcp_error ignored = {0};
            bool has_begun = false;
            if (transact(writer, NULL, 0, &has_begun, &ignored) != ARCP_OK) {
                writer->streams.collect_pause = ARCP__SQLITE_COLLECT_PAUSE;
            }
        } else {
            shrink(writer);
        }
        if (arcp__sqlite_checkpoint_after_commit(writer->checkpoint, &writer->streams)) {
            note_length(writer, true);
        }
    }
}
