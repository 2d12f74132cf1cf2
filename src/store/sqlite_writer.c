/* Group commit: while one transaction waits for the disk, batches gather; all of them
 * share the next one.
 *
 * When a transaction fails it is rolled back and its batches are tried one by one, so that
 * a batch the database cannot take does not take its predecessors with it, and what
 * happens once (a sync that fails, say) is made up for: all pages are written again. From
 * the first batch that fails alone on, every batch fails with it until the owner was told (see
 * <arcp/sys/store.h>: order is kept when they come again).
 *
 * Crash points: before COMMIT returns, nothing of the transaction is in the database and
 * nothing was answered. After it, all is there, whether or not the answers get out. */
#include "store/sqlite_writer.h"

#include "base/clock.h"
#include "store/sqlite_batch.h"
#include "store/sqlite_schema.h"

/* The schema sets WAL. synchronous FULL: a commit returns when the log is on disk. The log is
 * checkpointed by sqlite_checkpoint.c alone, and kept at up to 16 MiB to be written over. */
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

/* The database as the last commit has it. A checkpoint makes the file as long; it gets shorter
 * only after pages were given back. */
static void note_length(arcp__sqlite_writer *writer, bool is_settled)
{
    arcp_error ignored = {0};
    int64_t pages = 0;
    uint64_t bytes = arcp__sqlite_file_database_bytes(writer->file);
    if (arcp__sqlite_integer(&writer->sqlite, "PRAGMA page_count", &pages, &ignored) == ARCP_OK) {
        uint64_t least = (uint64_t)pages * ARCP__SQLITE_PAGE_BYTES;
        least = least < bytes ? least : bytes;
        if (is_settled || least < writer->file->bytes_min) {
            writer->file->bytes_min = least;
        }
    }
}

arcp_status arcp__sqlite_writer_open(arcp__sqlite_writer *writer, arcp__sqlite_file *file,
                                     arcp_error *err)
{
    *writer = (arcp__sqlite_writer){.file = file};
    arcp_status status = arcp__sqlite_open(&writer->sqlite, file->path, true, SETUP, err);
    if (status == ARCP_OK) {
        status = arcp__sqlite_schema_open(&writer->sqlite, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_file_note_log(writer->file, err);
    }
    if (status == ARCP_OK) {
        note_length(writer, true);
        int64_t mode = 0;
        status = arcp__sqlite_integer(&writer->sqlite, "PRAGMA auto_vacuum", &mode, err);
        writer->can_shrink = mode == 2;
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_streams_init(&writer->streams, &writer->sqlite, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_row_open(&writer->sqlite, &writer->streams.met, err);
    }
    if (status != ARCP_OK) {
        arcp__sqlite_writer_close(writer);
    }
    return status;
}

void arcp__sqlite_writer_close(arcp__sqlite_writer *writer)
{
    arcp_error ignored = {0};
    if (writer->sqlite.db != NULL) {
        arcp_status status = arcp__sqlite_streams_close_all(&writer->streams, &ignored);
        (void)status; /* what stays open is closed after the next start */
    }
    arcp__sqlite_streams_fini(&writer->streams);
    arcp__sqlite_close(&writer->sqlite);
}

/* A file that was deleted, moved or cut still takes writes, and loses them. */
static arcp_status begin(arcp__sqlite_writer *writer, arcp_error *err)
{
    arcp_status status = arcp__sqlite_file_check(
        writer->file, arcp__sqlite_checkpoint_log_bytes(writer->checkpoint), err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__sqlite_rollback(&writer->sqlite); /* should the last one have been left open */
    return arcp__sqlite_do(&writer->sqlite, ARCP__SQLITE_BEGIN_WRITE, err);
}

static arcp_status commit(arcp__sqlite_writer *writer, arcp_error *err)
{
    arcp_status status = arcp__sqlite_streams_flush(&writer->streams, err);
    if (status == ARCP_OK) {
        status = arcp__sqlite_streams_collect(&writer->streams, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_sums_flush(&writer->sqlite, &writer->streams.sums, err);
    }
    return status == ARCP_OK ? arcp__sqlite_do(&writer->sqlite, ARCP__SQLITE_COMMIT, err) : status;
}

static void roll_back(arcp__sqlite_writer *writer)
{
    arcp__sqlite_rollback(&writer->sqlite);
    arcp__sqlite_streams_abandoned(&writer->streams);
}

typedef struct transaction {
    bool has_begun;
    arcp__request *end; /* the batch that was refused as wrong, or NULL: all are settled */
    uint64_t batches;   /* applied */
    uint64_t ops;
} transaction;

/* Applies up to `limit` batches from `first` on. On failure nothing is applied, and err
 * says why. */
static arcp_status transact(arcp__sqlite_writer *writer, arcp__request *first, size_t limit,
                            transaction *out, arcp_error *err)
{
    *out = (transaction){false, NULL, 0, 0};
    arcp_status status = begin(writer, err);
    out->has_begun = status == ARCP_OK;
    for (arcp__request *batch = first; status == ARCP_OK && batch != NULL && limit != 0;
         batch = batch->next, limit--) {
        arcp__batch_outcome outcome = arcp__sqlite_batch_apply(&writer->streams, batch);
        if (outcome == ARCP__BATCH_APPLIED) {
            batch->status = ARCP_OK;
            out->batches++;
            out->ops += batch->count;
        } else if (outcome == ARCP__BATCH_WRONG) {
            out->end = batch;
            break;
        } else if (outcome == ARCP__BATCH_BROKEN) {
            *err = batch->error;
            status = batch->status;
        }
    }
    if (status == ARCP_OK) {
        status = commit(writer, err);
    }
    if (status != ARCP_OK) {
        roll_back(writer);
        return status;
    }
    arcp__sqlite_streams_committed(&writer->streams);
    return ARCP_OK;
}

static arcp_status transact_and_count(arcp__sqlite_writer *writer, arcp__request *first,
                                      size_t limit, transaction *out, arcp_error *err)
{
    int64_t began_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    arcp_status status = transact(writer, first, limit, out, err);
    if (status == ARCP_OK && out->batches != 0) {
        arcp__handover_count_commit(writer->handover, out->batches, out->ops,
                                    (uint64_t)(arcp__clock_ns(CLOCK_MONOTONIC) - began_ns));
    }
    return status;
}

/* This batch and all behind it. */
static void fail_from(arcp__sqlite_writer *writer, arcp__request *first, const arcp_error *err)
{
    writer->failed = *err;
    writer->failed_epoch = first->epoch + 1;
    for (arcp__request *batch = first; batch != NULL; batch = batch->next) {
        batch->status = err->status;
        batch->error = *err;
    }
}

static void write_one_by_one(arcp__sqlite_writer *writer, arcp__request *first)
{
    for (arcp__request *batch = first; batch != NULL; batch = batch->next) {
        arcp_error err = {0};
        transaction done;
        arcp_status status = transact_and_count(writer, batch, 1, &done, &err);
        if (status == ARCP_OK && done.end != NULL) {
            err = done.end->error;
            status = err.status;
        }
        if (status != ARCP_OK) {
            fail_from(writer, batch, &err);
            return;
        }
    }
}

static void write_batches(arcp__sqlite_writer *writer, arcp__request *batches)
{
    arcp__request *first = batches;
    for (; first != NULL && first->epoch < writer->failed_epoch; first = first->next) {
        first->status = writer->failed.status;
        first->error = writer->failed;
    }
    if (first != NULL) {
        arcp_error err = {0};
        transaction done;
        arcp_status status = transact_and_count(writer, first, SIZE_MAX, &done, &err);
        if (status != ARCP_OK && !done.has_begun) {
            fail_from(writer, first, &err); /* no batch is to blame */
        } else if (status != ARCP_OK) {
            write_one_by_one(writer, first);
        } else if (done.end != NULL) {
            err = done.end->error;
            fail_from(writer, done.end, &err);
        }
    }
    arcp__handover_answer_batches(writer->handover, batches);
}

/* Nobody waits: delete a piece of what may be forgotten. Failure means later. */
static void collect(arcp__sqlite_writer *writer)
{
    arcp_error err = {0};
    arcp_status status = begin(writer, &err);
    if (status == ARCP_OK) {
        status = commit(writer, &err);
    }
    if (status == ARCP_OK) {
        arcp__sqlite_streams_committed(&writer->streams);
        return;
    }
    roll_back(writer);
    writer->streams.collect_pause = ARCP__SQLITE_COLLECT_PAUSE;
}

/* ---- free pages ---- */

/* Some stay, for what comes next: a quarter of the file, and 1 MiB. */
#define FREE_PAGES_KEPT 256
#define FREE_PAGES_STEP "512" /* given back in one transaction */

static bool has_free_pages(arcp__sqlite_writer *writer)
{
    arcp_error ignored = {0};
    sqlite3_stmt *statement = arcp__sqlite_get(&writer->sqlite, ARCP__SQLITE_FREE_PAGES, &ignored);
    bool has = false;
    if (statement != NULL && sqlite3_step(statement) == SQLITE_ROW) {
        int64_t free_pages = sqlite3_column_int64(statement, 0);
        has = free_pages > FREE_PAGES_KEPT && free_pages > sqlite3_column_int64(statement, 1) / 4;
    }
    if (statement != NULL) {
        arcp__sqlite_reset(statement);
    }
    return has;
}

/* No batch waits, and much was deleted: gives some free pages back to the file system. A file that
 * was made without auto_vacuum keeps them. */
static void shrink(arcp__sqlite_writer *writer)
{
    arcp_error err = {0};
    arcp_status status = begin(writer, &err);
    if (status == ARCP_OK) {
        status = arcp__sqlite_exec(&writer->sqlite,
                                   "PRAGMA incremental_vacuum(" FREE_PAGES_STEP ")", &err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_do(&writer->sqlite, ARCP__SQLITE_COMMIT, &err);
    }
    if (status != ARCP_OK) {
        arcp__sqlite_rollback(&writer->sqlite);
    }
    note_length(writer, false);
    if (status == ARCP_OK && writer->can_shrink && has_free_pages(writer)) {
        return; /* the next time round */
    }
    writer->streams.runs_deleted = 0;
    if (arcp__sqlite_checkpoint_now(writer->checkpoint, &writer->streams)) {
        note_length(writer, true);
    }
}

/* What is done while no batch waits; whether anything was. */
static bool has_idle_work(arcp__sqlite_writer *writer)
{
    if (arcp__sqlite_streams_has_garbage(&writer->streams)) {
        return true;
    }
    if (writer->streams.runs_deleted < ARCP__SQLITE_SHRINK_RUNS) {
        return false;
    }
    if (!writer->can_shrink || !has_free_pages(writer)) {
        writer->streams.runs_deleted = 0;
        return false;
    }
    return true;
}

static void work_idly(arcp__sqlite_writer *writer)
{
    if (arcp__sqlite_streams_has_garbage(&writer->streams)) {
        collect(writer);
    } else {
        shrink(writer);
    }
}

void *arcp__sqlite_writer_run(void *user)
{
    arcp__sqlite_writer *writer = user;
    for (;;) {
        arcp__request *batches = NULL;
        bool has_work = has_idle_work(writer);
        if (!arcp__handover_take_batches(writer->handover, !has_work,
                                         ARCP__SQLITE_TRANSACTION_BYTES, &batches)) {
            return NULL;
        }
        if (batches != NULL) {
            write_batches(writer, batches);
        } else {
            work_idly(writer);
        }
        if (arcp__sqlite_checkpoint_after_commit(writer->checkpoint, &writer->streams)) {
            note_length(writer, true);
        }
    }
}
