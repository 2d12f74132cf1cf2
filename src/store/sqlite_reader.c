#include "store/sqlite_reader.h"

#include "base/alloc.h"
#include "store/sqlite_run.h"
#include "store/store_check.h"

#define LINE_FEED '\n'
#define SETUP                                                                                      \
    "PRAGMA cache_size = -4096;"                                                                   \
    "PRAGMA query_only = ON;"                                                                      \
    "PRAGMA trusted_schema = OFF"

arcp_status arcp__sqlite_reader_open(arcp__sqlite_reader *reader, const char *path, arcp_error *err)
{
    return arcp__sqlite_open(&reader->sqlite, path, SETUP, err);
}

void arcp__sqlite_reader_close(arcp__sqlite_reader *reader)
{
    arcp__sqlite_close(&reader->sqlite);
}

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a read");
}

/* ---- streams ---- */

/* Records that were gathered so far, and what may still come. */
typedef struct gathering {
    arcp__request *read;
    size_t capacity;
    size_t bytes;
    uint64_t next; /* the position that has to come next; only when there are records */
    bool is_full;
} gathering;

static bool reserve_record(gathering *all)
{
    arcp__request *read = all->read;
    if (read->answer_count < all->capacity) {
        return true;
    }
    size_t capacity = all->capacity == 0 ? 64 : all->capacity * 2;
    arcp_span *records = arcp__realloc_array(read->records, capacity, sizeof(*records));
    if (records == NULL) {
        return false;
    }
    read->records = records;
    all->capacity = capacity;
    return true;
}

static arcp_status damaged(const arcp__sqlite_reader *reader, arcp__sqlite_range range,
                           const char *what, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT, "%s: the run at position %llu %s",
                          reader->sqlite.path, (unsigned long long)range.first, what);
}

/* The record that begins at `at`; the run's last one ends where its data ends. */
static bool cut_record(arcp_span data, size_t at, bool is_last, arcp_span *out)
{
    const char *begin = data.data + at;
    size_t left = data.size - at;
    const char *end = left == 0 ? NULL : memchr(begin, LINE_FEED, left);
    if (is_last != (end == NULL)) {
        return false;
    }
    *out = arcp_span_make(begin, is_last ? left : (size_t)(end - begin));
    return true;
}

/* Takes the records at position `from` and after it out of one run, as many as still fit,
 * and copies their bytes in one piece. */
static arcp_status gather_run(const arcp__sqlite_reader *reader, gathering *all,
                              arcp__sqlite_range range, arcp_span data, uint64_t from,
                              arcp_error *err)
{
    arcp__request *read = all->read;
    size_t first_taken = read->answer_count;
    size_t at = 0;
    data.data = data.data == NULL ? "" : data.data;
    for (uint64_t position = range.first; position < range.end && !all->is_full; position++) {
        arcp_span record = {NULL, 0};
        if (at > data.size || !cut_record(data, at, position + 1 == range.end, &record)) {
            return damaged(reader, range, "does not hold as many records as it says", err);
        }
        at += record.size + 1;
        if (position < from) {
            continue;
        }
        if (read->answer_count == read->count_max ||
            (read->answer_count != 0 && record.size > read->bytes_max - all->bytes)) {
            all->is_full = true;
            break;
        }
        if (!reserve_record(all)) {
            return no_memory(err);
        }
        if (read->answer_count == 0) {
            read->first = position;
        }
        read->records[read->answer_count++] = record;
        all->bytes =
            record.size > read->bytes_max - all->bytes ? read->bytes_max : all->bytes + record.size;
    }
    if (read->answer_count == first_taken) {
        return ARCP_OK;
    }
    const char *begin = read->records[first_taken].data;
    arcp_span last = read->records[read->answer_count - 1];
    arcp_span copy = arcp__arena_copy(
        &read->arena, arcp_span_make(begin, (size_t)(last.data - begin) + last.size));
    if (copy.data == NULL) {
        return no_memory(err);
    }
    for (size_t index = first_taken; index < read->answer_count; index++) {
        read->records[index].data = copy.data + (read->records[index].data - begin);
    }
    return ARCP_OK;
}

static arcp_status gather(arcp__sqlite_reader *reader, gathering *all, sqlite3_stmt *statement,
                          arcp_error *err)
{
    for (;;) {
        int code = sqlite3_step(statement);
        if (code == SQLITE_DONE) {
            return ARCP_OK;
        }
        if (code != SQLITE_ROW) {
            return arcp__sqlite_error(&reader->sqlite, code, err);
        }
        arcp__sqlite_range range;
        arcp_status status = arcp__sqlite_run_range(&reader->sqlite, statement, &range, err);
        if (status != ARCP_OK) {
            return status;
        }
        if (all->read->answer_count != 0 && range.first != all->next) {
            return damaged(reader, range, "does not follow the one before it", err);
        }
        all->next = range.end;
        status = gather_run(reader, all, range, arcp__sqlite_column_text(statement, 2),
                            all->read->from, err);
        if (status != ARCP_OK || all->is_full) {
            return status;
        }
    }
}

static arcp_status read_runs(arcp__sqlite_reader *reader, arcp__request *read, int64_t stream,
                             arcp_error *err)
{
    sqlite3_stmt *statement = arcp__sqlite_get(&reader->sqlite, ARCP__SQLITE_RUN_READ, err);
    if (statement == NULL) {
        return err->status;
    }
    uint64_t from = read->from < ARCP_STORE_POSITION_MAX ? read->from : ARCP_STORE_POSITION_MAX;
    sqlite3_bind_int64(statement, 1, arcp__sqlite_run_id(stream, 0));
    sqlite3_bind_int64(statement, 2, arcp__sqlite_run_id(stream, from));
    sqlite3_bind_int64(statement, 3, arcp__sqlite_run_id(stream, ARCP_STORE_POSITION_MAX));
    gathering all = {.read = read};
    arcp_status status = gather(reader, &all, statement, err);
    arcp__sqlite_reset(statement);
    if (status == ARCP_OK && read->answer_count == 0) {
        arcp__sqlite_range last = {0, 0};
        status = arcp__sqlite_run_find_last(&reader->sqlite, stream, ARCP_STORE_POSITION_MAX, &last,
                                            err);
        read->first = last.end;
    }
    return status;
}

static arcp_status read_stream(arcp__sqlite_reader *reader, arcp__request *read)
{
    int64_t stream = 0;
    arcp_status status = arcp__sqlite_do(&reader->sqlite, ARCP__SQLITE_BEGIN_READ, &read->error);
    if (status != ARCP_OK) {
        return status;
    }
    status =
        arcp__sqlite_stream_find(&reader->sqlite, arcp__request_key(read), &stream, &read->error);
    if (status == ARCP_OK && stream != 0) {
        status = read_runs(reader, read, stream, &read->error);
    }
    arcp_error ignored = {0};
    if (arcp__sqlite_do(&reader->sqlite, ARCP__SQLITE_COMMIT, &ignored) != ARCP_OK) {
        arcp__sqlite_rollback(&reader->sqlite); /* nothing was written: it is the same */
    }
    return status;
}

static void serve_read(arcp__sqlite_reader *reader, arcp__request *read)
{
    arcp__sqlite_checkpoint_enter(reader->checkpoint);
    read->status = read_stream(reader, read);
    arcp__sqlite_checkpoint_leave(reader->checkpoint);
    if (read->status != ARCP_OK) {
        read->answer_count = 0;
        read->first = 0;
    }
    arcp__handover_answer_read(reader->handover, read);
}

/* ---- tables ---- */

/* Takes the row that the statement stands on into the page; false when out of memory. */
static bool take_row(arcp__request *page, sqlite3_stmt *statement)
{
    arcp_span key = arcp__arena_copy(&page->arena, arcp__sqlite_column_text(statement, 0));
    arcp_span value = arcp__arena_copy(&page->arena, arcp__sqlite_column_text(statement, 1));
    page->rows[page->answer_count++] = (arcp_store_row){key, value};
    return key.data != NULL && value.data != NULL;
}

/* Fills a page with rows after `after` (from the prefix on when that is empty). */
static arcp_status read_page(arcp__sqlite_reader *reader, const arcp__request *scan,
                             arcp_span after, arcp__request *page, arcp_error *err)
{
    arcp_span prefix = arcp__request_key(scan);
    sqlite3_stmt *statement = arcp__sqlite_get_row(
        &reader->sqlite, after.size == 0 ? ARCP__SQLITE_ROW_SCAN : ARCP__SQLITE_ROW_SCAN_AFTER,
        scan->table, err);
    if (statement == NULL) {
        return err->status;
    }
    arcp__sqlite_bind_text(statement, 1, after.size == 0 ? prefix : after);
    arcp_status status = ARCP_OK;
    while (status == ARCP_OK && page->answer_count < ARCP_STORE_SCAN_ROWS_MAX &&
           page->arena.used < ARCP__STORE_SCAN_BYTES_MAX) {
        int code = sqlite3_step(statement);
        if (code == SQLITE_DONE ||
            (code == SQLITE_ROW &&
             !arcp_span_starts_with(arcp__sqlite_column_text(statement, 0), prefix))) {
            page->is_last = true;
            break;
        }
        if (code != SQLITE_ROW) {
            status = arcp__sqlite_error(&reader->sqlite, code, err);
        } else if (!take_row(page, statement)) {
            status = no_memory(err);
        }
    }
    arcp__sqlite_reset(statement);
    return status;
}

/* NULL when out of memory. */
static arcp__request *new_page(const arcp__request *scan, arcp_error *err)
{
    arcp__request *page = NULL;
    if (arcp__request_new_scan(scan->id, scan->table, arcp__request_key(scan), &page, err) !=
        ARCP_OK) {
        return NULL;
    }
    page->rows = arcp__alloc_array(ARCP_STORE_SCAN_ROWS_MAX, sizeof(*page->rows));
    if (page->rows == NULL) {
        (void)no_memory(err);
        arcp__request_free(page);
        return NULL;
    }
    return page;
}

/* Page by page, each a look of its own, so that the log is not held while the owner takes
 * its time. The answer that ends the scan is the request itself when something failed. */
static void serve_scan(arcp__sqlite_reader *reader, arcp__request *scan)
{
    char after[ARCP_STORE_KEY_BYTES_MAX];
    size_t after_size = 0;
    for (;;) {
        arcp__request *page = new_page(scan, &scan->error);
        arcp_status status = page == NULL ? scan->error.status : ARCP_OK;
        if (page != NULL) {
            arcp__sqlite_checkpoint_enter(reader->checkpoint);
            status = read_page(reader, scan, arcp_span_make(after, after_size), page, &scan->error);
            arcp__sqlite_checkpoint_leave(reader->checkpoint);
        }
        if (page == NULL || status != ARCP_OK) {
            arcp__request_free(page);
            scan->status = status;
            scan->is_last = true;
            arcp__handover_answer_read(reader->handover, scan);
            return;
        }
        bool is_last = page->is_last;
        if (!is_last) {
            arcp_span key = page->rows[page->answer_count - 1].key;
            after_size = key.size < sizeof(after) ? key.size : sizeof(after);
            memcpy(after, key.data, after_size);
        }
        arcp__handover_answer_read(reader->handover, page);
        if (is_last) {
            arcp__request_free(scan);
            return;
        }
    }
}

void *arcp__sqlite_reader_run(void *user)
{
    arcp__sqlite_reader *reader = user;
    for (;;) {
        arcp__request *request = arcp__handover_take_read(reader->handover);
        if (request == NULL) {
            return NULL;
        }
        if (request->kind == ARCP__REQUEST_READ) {
            serve_read(reader, request);
        } else {
            serve_scan(reader, request);
        }
    }
}
